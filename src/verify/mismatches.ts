import { joinKey, type RejectedRow } from '../core/decode.ts';
import type { RowDifference } from '../core/difference.ts';
import type { RowKey } from '../core/mirror-reader.ts';
import type { PendingCause } from '../core/pending.ts';

/** A row in which source and mirror seem to differ. */
export interface Mismatch extends RowDifference {
  readonly key: RowKey;
  /** Ids of what the row belongs to. */
  readonly owners: readonly string[];
  /** Why the next sync brings it; null when it does not, as far as is known. */
  readonly cause: PendingCause | null;
  /** What else is known of how it came; null when nothing is. */
  readonly why: string | null;
  /** The mirror holds its removal back (R14). */
  readonly heldBack?: true;
}

/** Suspects of one stream, with a bound on what is kept of them: the numbers go on, the list does not. */
export interface MismatchList {
  /** By joined key: pages that shift, and reads that start anew, show a row twice. */
  readonly listed: Map<string, Mismatch>;
  /** How many were not listed, by what they are. */
  readonly beyond: Record<RowDifference['what'], number>;
}

/** A difference that is worth more than its number; memory has a bound. */
const MOST_LISTED = 20_000;

export function noMismatches(): MismatchList {
  return { listed: new Map(), beyond: { missing: 0, extra: 0, unequal: 0 } };
}

export function add({ listed, beyond }: MismatchList, mismatch: Mismatch): void {
  const key = mismatch.key.length > 0 ? joinKey(mismatch.key) : `no key ${listed.size}`;
  if (listed.size < MOST_LISTED || listed.has(key)) listed.set(key, mismatch);
  else beyond[mismatch.what] += 1;
}

export function countBeyond({ beyond }: MismatchList): number {
  return beyond.missing + beyond.extra + beyond.unequal;
}

export function mismatchOf(
  rowKey: RowKey,
  { what, fields }: RowDifference,
  { owners = [], cause = null }: Partial<Pick<Mismatch, 'owners' | 'cause'>> = {},
): Mismatch {
  return { key: rowKey, what, fields, owners, cause, why: null };
}

/** A row that the mirror cannot take, as a difference (R20). */
export function rejectedMismatch({ key, reason }: RejectedRow, isHeld: boolean): Mismatch {
  const what = isHeld ? 'unequal' : 'missing';
  return { ...mismatchOf(key ?? [], { what, fields: [] }), why: `rejected: ${reason}` };
}
