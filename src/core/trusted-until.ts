import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { addSeconds, LAST_INSTANT } from './instant.ts';
import type { TrustedUntil } from './newest-wins.ts';

/** A scan or an answer by id is believed up to its T less the overlap; a feed is compared row by row (R10). */
export function trustedUntilOf(read: Read, { options }: Context): TrustedUntil {
  if (isFeedRead(read)) return null;
  // Without a server time, everything that a scan shows is believed.
  return read.at === null ? LAST_INSTANT : addSeconds(read.at, -options.overlapSeconds);
}

export function isFeedRead({ as }: Read): boolean {
  return as === 'upserts' || as === 'tombstones';
}
