import type { Checkpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { addSeconds } from '../time/instant.ts';

/**
 * What it means that a stream answers 404 (R15): it was `never-live`, or it was read before, `lately` or longer ago
 * than the grace allows (`overdue`). Without a server time, it counts as lately.
 */
export function lossOf(
  { watermark }: Pick<Checkpoint, 'watermark'>,
  { latestServerTime, options: { graceSeconds } }: Context,
): 'never-live' | 'lately' | 'overdue' {
  if (watermark === null) return 'never-live';
  return latestServerTime !== null && addSeconds(watermark, graceSeconds) < latestServerTime ? 'overdue' : 'lately';
}
