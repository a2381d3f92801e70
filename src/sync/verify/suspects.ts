import { joinKey, type Rejected } from '../../core/decode.ts';
import type { Difference } from '../../core/difference.ts';
import type { Key } from '../../core/holding.ts';
import type { Cause } from '../../core/pending.ts';

/** A row in which source and mirror seem to differ. */
export interface Suspect extends Difference {
  readonly key: Key;
  /** Ids of what the row belongs to. */
  readonly owners: readonly string[];
  /** Why the next sync brings it; null when it does not, as far as is known. */
  readonly cause: Cause | null;
  /** What else is known of how it came; null when nothing is. */
  readonly why: string | null;
  /** The mirror holds its removal back (R14). */
  readonly heldBack?: true;
}

/** Suspects of one stream, with a bound on what is kept of them: the numbers go on, the list does not. */
export interface Suspects {
  /** By joined key: pages that shift, and reads that start anew, show a row twice. */
  readonly listed: Map<string, Suspect>;
  /** How many were not listed, by what they are. */
  readonly beyond: Record<Difference['what'], number>;
}

/** A difference that is worth more than its number; memory has a bound. */
const MOST_LISTED = 20_000;

export function noSuspects(): Suspects {
  return { listed: new Map(), beyond: { missing: 0, extra: 0, unequal: 0 } };
}

export function add({ listed, beyond }: Suspects, suspect: Suspect): void {
  const key = suspect.key.length > 0 ? joinKey(suspect.key) : `no key ${listed.size}`;
  if (listed.size < MOST_LISTED || listed.has(key)) listed.set(key, suspect);
  else beyond[suspect.what] += 1;
}

export function countBeyond({ beyond }: Suspects): number {
  return beyond.missing + beyond.extra + beyond.unequal;
}

export function suspectOf(
  key: Key,
  { what, fields }: Difference,
  { owners = [], cause = null }: Partial<Pick<Suspect, 'owners' | 'cause'>> = {},
): Suspect {
  return { key, what, fields, owners, cause, why: null };
}

/** A row that the mirror cannot take, as a difference (R20). */
export function rejectedSuspect({ key, reason }: Rejected, isHeld: boolean): Suspect {
  const what = isHeld ? 'unequal' : 'missing';
  return { ...suspectOf(key ?? [], { what, fields: [] }), why: `rejected: ${reason}` };
}
