import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type DecodedRow, joinKey } from './decode.ts';
import { type RowChange, sameRow, withoutFuture } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';
import { trustedUntilOf } from './trusted-until.ts';

/** Rows of a typed list, and those held under their keys. */
interface TypedRowsInput {
  readonly stream: Stream;
  readonly rows: readonly DecodedRow[];
  readonly held: ReadonlyMap<string, Row>;
}

/** What typed rows do, and whose marks they pay; `early` are versions before the one held, and pay nothing. */
interface TypedRowsOutcome {
  readonly changes: readonly RowChange[];
  readonly paid: readonly string[];
  readonly early: readonly string[];
}

/** Into the rows the leading stream holds live. An earlier version fills only what has no fields yet (R22). */
export function fillTypedRows({ stream, rows, held }: TypedRowsInput, read: Read, context: Context): TypedRowsOutcome {
  const changes: RowChange[] = [];
  const paid: string[] = [];
  const early: string[] = [];
  for (const { key, row } of rows) {
    const id = joinKey(key);
    const before = held.get(id);
    // Without a server time nobody can tell for how long the list has lagged: it is asked again.
    const isEarly = isEarlier(row, before) && (read.at === null || mayLag(before, read, context));
    (isEarly ? early : paid).push(id);
    if (before === undefined || !takes(stream, before) || (isEarly && isFilled(stream, before))) continue;
    const written = Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, row[name] ?? null]));
    const merged = { ...before, ...written };
    if (!sameRow(stream.fields, before, merged)) changes.push({ row: merged, kind: 'updated' });
  }
  return { changes, paid, early };
}

/** Whether a row is one of those that the typed list fills. */
function takes({ subtype }: Stream, row: Row): boolean {
  return row['deleted_at'] === null && subtype !== undefined && row[subtype.field] === subtype.is;
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
  const at = withoutFuture(row, context.latestServerTime)?.['synced_at'];
  const floor = trustedUntilOf(read, context);
  return typeof at === 'string' && (floor === null || at > floor);
}

/** Whether a row has the fields of its kind without which the typed list would not show it; always so of other rows. */
export function isFilled({ writes = [], fields }: Stream, row: Row | undefined): boolean {
  return row === undefined || writes.every((name) => !fields[name]?.required || row[name] !== null);
}
