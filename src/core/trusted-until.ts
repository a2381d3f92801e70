import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { addSeconds } from './instant.ts';
import type { TrustedUntil } from './newest-wins.ts';

/** What a read shows is believed back to its T less the overlap; a feed shows no more than its rows (R10). */
export function trustedUntilOf(read: Read, { options }: Context): TrustedUntil {
  if (isFeedRead(read)) return null;
  return read.at === null ? ALWAYS : addSeconds(read.at, -options.overlapSeconds);
}

export function isFeedRead({ as }: Read): boolean {
  return as === 'upserts' || as === 'tombstones';
}

/** Later than any time of a row: without a server time what a scan shows is believed. */
const ALWAYS = '9999-12-31T23:59:59.999999Z';
