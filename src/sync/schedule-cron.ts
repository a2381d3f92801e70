import { Cron } from 'croner';
import { type Instant, instantOfMs } from '../core/time/instant.ts';

/**
 * The first tick of a cron expression in UTC after a moment; null if there is none, or if it is not a cron expression.
 */
export function nextTick(cron: string, after: Instant): Instant | null {
  const parsed = parse(cron);
  const tick = parsed?.nextRun(new Date(after)) ?? null;
  return tick === null ? null : instantOfMs(tick.getTime());
}

function parse(cron: string): Cron | null {
  try {
    // Some services write `5/15` for `5-59/15`.
    const parsed = new Cron(cron, { timezone: 'UTC', paused: true, sloppyRanges: true });
    // Croner accepts a date as well, which is not a cron expression.
    return parsed.getPattern() === undefined ? null : parsed;
  } catch {
    return null;
  }
}
