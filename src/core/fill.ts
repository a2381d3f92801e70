import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type Decoded, joinKey } from './decode.ts';
import { floorOf } from './floor.ts';
import { type Change, sameRow, withoutFuture } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';

/** Rows of a typed list, and those held under their keys. */
interface Filling {
  readonly stream: Stream;
  readonly rows: readonly Decoded[];
  readonly held: ReadonlyMap<string, Row>;
}

/** What typed rows do, and whose marks they pay; `early` are versions before the one held, and pay nothing. */
interface Filled {
  readonly changes: readonly Change[];
  readonly paid: readonly string[];
  readonly early: readonly string[];
}

/** Into the rows the leading stream holds live. An earlier version fills only what has no fields yet (R22). */
export function fill({ stream, rows, held }: Filling, read: Read, context: Context): Filled {
  const changes: Change[] = [];
  const paid: string[] = [];
  const early: string[] = [];
  for (const { key, row } of rows) {
    const before = held.get(joinKey(key));
    // Without a server time nobody can tell for how long the list has lagged: it is asked again.
    const isEarly = isEarlier(row, before) && (read.at === null || mayLag(before, read, context));
    (isEarly ? early : paid).push(key[0] as string);
    if (before === undefined || !takes(stream, before) || (isEarly && isFilled(stream, before))) continue;
    const written = Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, row[name] ?? null]));
    const merged = { ...before, ...written };
    if (!sameRow(stream.fields, before, merged)) changes.push({ row: merged, was: 'updated' });
  }
  return { changes, paid, early };
}

/** Whether a row is one of those that the typed list fills. */
function takes({ within }: Stream, row: Row): boolean {
  return row['deleted_at'] === null && within !== undefined && row[within.field] === within.is;
}

function isEarlier({ synced_at: shown }: Row, held: Row | undefined): boolean {
  const at = held?.['synced_at'];
  return typeof shown === 'string' && typeof at === 'string' && shown < at;
}

/**
 * Whether a typed list may not have come to the version of a row that is held: what it shows is believed of no version younger than
 * its read less the overlap (R10, R22).
 */
export function mayLag(row: Row | undefined, read: Read, context: Context): boolean {
  const at = withoutFuture(row, context.latest)?.['synced_at'];
  const floor = floorOf(read, context);
  return typeof at === 'string' && (floor === null || at > floor);
}

/** Whether a row has the fields of its kind without which the typed list would not show it; always so of other rows. */
export function isFilled({ writes = [], fields }: Stream, row: Row | undefined): boolean {
  return row === undefined || writes.every((name) => !fields[name]?.required || row[name] !== null);
}
