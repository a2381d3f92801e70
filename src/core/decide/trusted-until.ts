import type { Read, Round } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { addSeconds, earlierOf, type Instant, LAST_INSTANT } from '../time/instant.ts';
import type { TrustedUntil } from './newest-wins.ts';

/**
 * A scan or an `ids` lookup is trusted up to its T less the overlap; a feed is compared row by row (R10). For a
 * suspect row the response always wins: the row's times may be what is wrong, and with one writer no row is newer than
 * the response.
 */
export function trustedUntilOf(read: Read, context: Context): TrustedUntil {
  if (isFeedRead(read)) return null;
  if (read.as === 'suspect') return LAST_INSTANT;
  // Without a server time, everything that a scan returns is trusted.
  return settledBefore(read, context) ?? LAST_INSTANT;
}

/** Rows synced until then were older than the overlap when read; null without a server time (R10, R18). */
export function settledBefore(read: Pick<Read, 'at'>, { serverTime, options }: Context): Instant | null {
  const at = readAt(read, serverTime);
  return at === null ? null : addSeconds(at, -options.overlapSeconds);
}

/** T of the run in which the read began. A later response may have shown that it was too late (R1). */
export function readAt({ at }: Pick<Read, 'at'>, serverTime: Instant | null): Instant | null {
  return at === null || serverTime === null ? at : earlierOf(at, serverTime);
}

/**
 * The read when its first page has arrived: T may have been unknown when it was requested (R1). The window of a history
 * was chosen then, so its date stays (R22).
 */
export function datedRead(read: Read, { serverTime }: Pick<Context, 'serverTime'>): Read {
  const isUndated = read.at === null && read.cursor === null && read.history === null;
  return isUndated ? { ...read, at: serverTime } : read;
}

/** T of the round's first page, or of this run if it read none; null if that page's run received no `Date` (R1). */
export function roundReadAt({ pages, firstPageAt }: Round, serverTime: Instant | null): Instant | null {
  return pages === 0 ? serverTime : readAt({ at: firstPageAt }, serverTime);
}

export function isFeedRead({ as }: Read): boolean {
  return as === 'upserts' || as === 'tombstones';
}
