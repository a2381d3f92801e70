import { nextTick } from '../sync/schedule-cron.ts';
import { OptionError, readNumber } from './option-error.ts';
import type { OptionsNamed } from './options.ts';
import { clock } from './sync-settings.ts';

/** When syncs are due according to the options. @throws OptionError */
export function cronRules({ cron, delay }: OptionsNamed<'cron' | 'delay'>) {
  if (cron !== undefined && nextTick(cron, clock()) === null)
    throw new OptionError(
      'cron',
      `--cron ${cron} is not a cron expression, or has no next time: write one such as "0 6 * * *"`,
    );
  return { cron: cron ?? null, delaySeconds: readNumber('delay', delay) };
}
