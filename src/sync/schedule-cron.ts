import { Cron } from 'croner';
import { type Instant, instantOfMs } from '../core/time/instant.ts';

/** The first tick of a UTC cron expression after a moment; null if there is none or the expression is invalid. */
export function nextTick(cron: string, after: Instant): Instant | null {
  const parsed = parse(cron);
  const tick = parsed?.nextRun(new Date(after)) ?? null;
  return tick === null ? null : instantOfMs(tick.getTime());
}

function parse(cron: string): Cron | null {
  try {
    // Some services write `5/15` for `5-59/15`.
    const parsed = new Cron(cron, { timezone: 'UTC', paused: true, sloppyRanges: true });
    // Croner also accepts a date, which is not a cron expression.
    return parsed.getPattern() === undefined ? null : parsed;
  } catch {
    return null;
  }
}
