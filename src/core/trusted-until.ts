import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { addSeconds, LAST_INSTANT } from './instant.ts';
import type { TrustedUntil } from './newest-wins.ts';

/** What a read shows is believed back to its T less the overlap; a feed shows no more than its rows (R10). */
export function trustedUntilOf(read: Read, { options }: Context): TrustedUntil {
  if (isFeedRead(read)) return null;
  // Without a server time, whatever a scan shows is believed.
  return read.at === null ? LAST_INSTANT : addSeconds(read.at, -options.overlapSeconds);
}

export function isFeedRead({ as }: Read): boolean {
  return as === 'upserts' || as === 'tombstones';
}
