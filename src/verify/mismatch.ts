import type { RowDifference } from '../core/decide/difference.ts';
import type { PendingCause } from '../core/decide/pending.ts';
import { joinKey, type RejectedRow } from '../core/decode/decode.ts';
import type { RowKey } from '../core/ports/mirror-reader.ts';
import type { FieldValues } from './field-values.ts';

/**
 * What verify knows of a mismatch:
 * - `possible`: nothing explains it, and the row was not requested again
 * - `changed`, `ambiguous`: it is pending, and the next sync removes it (see `PendingCause`)
 * - `different`: the row was requested again by its id and still differs
 * - `repaired`: the row differed, and a repair has made both sides equal
 */
type MismatchVerdict = 'possible' | PendingCause | 'different' | 'repaired';

/** A row that seems to differ between source and mirror. */
export interface Mismatch extends RowDifference {
  /** Empty if the row has no usable key. */
  readonly key: RowKey;
  /** Ids of the rows that it belongs to. */
  readonly parentIds: readonly string[];
  /** Both values of the fields that differ. */
  readonly values: readonly FieldValues[];
  readonly verdict: MismatchVerdict;
  /** The reason, if the verdict does not tell it. */
  readonly why: string | null;
  /** The mirror holds its removal back (R14). */
  readonly heldBack?: true;
}

export function mismatchOf(key: RowKey, difference: RowDifference, known: Partial<Mismatch> = {}): Mismatch {
  return { parentIds: [], values: [], verdict: 'possible', why: null, ...known, ...difference, key };
}

/** A row that the mirror cannot store (R20). */
export function rejectedMismatch({ key, reason }: RejectedRow, isInMirror: boolean): Mismatch {
  const what = isInMirror ? 'unequal' : 'missing';
  return mismatchOf(key ?? [], { what, fields: [] }, { why: `rejected: ${reason}` });
}

export function isPending({ verdict }: Mismatch): boolean {
  return verdict === 'changed' || verdict === 'ambiguous';
}

/** Whether the row was found to differ for good, repaired since or not. */
export function isConfirmed({ verdict }: Mismatch): boolean {
  return verdict === 'different' || verdict === 'repaired';
}

/** Also used for environments. */
export const PENDING_REASONS: Readonly<Record<PendingCause, string>> = {
  changed: 'changed at the source since the last sync',
  ambiguous: 'cannot tell yet whether the source has changed or the mirror is wrong',
};

/** What to say of a mismatch besides how the row differs. */
export function whyOf({ verdict, why, heldBack }: Mismatch): string | null {
  if (why !== null) return why;
  if (verdict === 'changed' || verdict === 'ambiguous') return PENDING_REASONS[verdict];
  return verdict === 'different' && heldBack ? 'held back: `obsync sync --allow-shrink` deletes it' : null;
}

/** Mismatches of one stream. The list is bounded; any more are only counted. */
export interface MismatchList {
  /** By joined key: shifting pages and restarted reads return a row twice. */
  listed: Map<string, Mismatch>;
  readonly unlisted: Record<RowDifference['what'], number>;
}

const MAX_LISTED = 20_000;
/** Values take more memory than keys. */
const MAX_WITH_VALUES = 1000;

export function createMismatchList(): MismatchList {
  return { listed: new Map(), unlisted: { missing: 0, extra: 0, unequal: 0 } };
}

export function addMismatch({ listed, unlisted }: MismatchList, mismatch: Mismatch): void {
  const key = mismatch.key.length > 0 ? joinKey(mismatch.key) : `no key ${listed.size}`;
  const shown = listed.size < MAX_WITH_VALUES || listed.has(key) ? mismatch : { ...mismatch, values: [] };
  if (listed.size < MAX_LISTED || listed.has(key)) listed.set(key, shown);
  else unlisted[mismatch.what] += 1;
}

export function countUnlisted({ unlisted }: MismatchList): number {
  return unlisted.missing + unlisted.extra + unlisted.unequal;
}
