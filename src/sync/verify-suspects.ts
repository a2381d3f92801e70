import type { Decoded, Rejected } from '../core/decode.ts';
import type { Difference } from '../core/difference.ts';
import type { Row } from '../core/stream.ts';

/** A row in which source and mirror seem to differ. */
export interface Suspect extends Difference {
  readonly key: readonly string[];
  /** What is known of how it came; null when nothing is. */
  readonly why: string | null;
  /** The mirror holds its removal back (R14). */
  readonly heldBack?: true;
  /** The row as the source shows it, else as the mirror holds it, once it has been looked at again. */
  readonly row?: Row;
}

/** Suspects of one stream, with a bound on what is kept of them: the numbers go on, the list does not. */
export interface Suspects {
  readonly list: Suspect[];
  /** How many were not put on the list, by what they are. */
  readonly beyond: Record<Difference['what'], number>;
}

/** A difference that is worth more than its number; memory has a bound. */
const MOST_LISTED = 20_000;

export function noSuspects(): Suspects {
  return { list: [], beyond: { missing: 0, extra: 0, unequal: 0 } };
}

export function add(suspects: Suspects, suspect: Suspect): void {
  if (suspects.list.length < MOST_LISTED) suspects.list.push(suspect);
  else suspects.beyond[suspect.what] += 1;
}

/** @returns what takes everything back that is added from now on */
export function bookmark({ list, beyond }: Suspects): () => void {
  const [length, numbers] = [list.length, { ...beyond }];
  return () => {
    list.length = length;
    Object.assign(beyond, numbers);
  };
}

/** How many more the list takes. */
export function room({ list }: Suspects): number {
  return MOST_LISTED - list.length;
}

export function countOf({ list, beyond }: Suspects, what?: Difference['what']): number {
  if (what === undefined) return list.length + beyond.missing + beyond.extra + beyond.unequal;
  return list.filter((suspect) => suspect.what === what).length + beyond[what];
}

export function suspectOf(key: readonly string[], { what, fields }: Difference, why: string | null = null): Suspect {
  return { key, what, fields, why };
}

/** A row that the mirror cannot take, as a difference (R20). */
export function rejectedSuspect({ key, reason }: Rejected, isHeld: boolean): Suspect {
  return { key: key ?? [], what: isHeld ? 'unequal' : 'missing', fields: [], why: `rejected: ${reason}` };
}

/** What one read showed, by joined key. */
export interface Shown {
  readonly rows: Map<string, Decoded>;
  readonly rejected: Map<string, Rejected>;
}
