import { Cron } from 'croner';
import { type Instant, instantOfMs } from '../core/instant.ts';

/** The first tick of a cron expression, read in UTC, after a moment; null when none comes or it is no such expression. */
export function nextTick(cron: string, after: Instant): Instant | null {
  const parsed = parse(cron);
  const tick = parsed?.nextRun(new Date(after)) ?? null;
  return tick === null ? null : instantOfMs(tick.getTime());
}

function parse(cron: string): Cron | null {
  try {
    // `5/15` is what some services write for `5-59/15`.
    const parsed = new Cron(cron, { timezone: 'UTC', paused: true, sloppyRanges: true });
    // It takes a date as well, which is no cron expression.
    return parsed.getPattern() === undefined ? null : parsed;
  } catch {
    return null;
  }
}
