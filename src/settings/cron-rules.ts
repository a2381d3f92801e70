import type { ScheduleRules } from '../core/schedule/schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import { DEFAULTS } from './defaults.ts';
import { inRange, OptionError } from './option-error.ts';
import { clock } from './sync-settings.ts';

/** When syncs are due, as the options say it. @throws OptionError */
export function cronRules({
  cron,
  delay,
}: {
  readonly cron?: string | undefined;
  readonly delay?: number | undefined;
}): Pick<ScheduleRules, 'cron' | 'delaySeconds'> {
  if (cron !== undefined && nextTick(cron, clock()) === null) {
    throw new OptionError(
      'cron',
      `--cron ${cron} is not a cron expression, or has no next time: write one such as "0 6 * * *"`,
    );
  }
  return { cron: cron ?? null, delaySeconds: inRange('delay', delay ?? DEFAULTS.delay, { min: 0, max: 86_400 * 7 }) };
}
