import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type DecodedRow, joinKey } from './decode.ts';
import { type RowChange, sameRow, withoutFuture } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';
import { trustedUntilOf } from './trusted-until.ts';

/** Rows of a typed list, and the mirror's rows under their keys. */
interface TypedRowsInput {
  readonly stream: Stream;
  readonly rows: readonly DecodedRow[];
  readonly existing: ReadonlyMap<string, Row>;
}

/**
 * The changes that typed rows make, and the ids whose marks they clear. `early` are ids of rows older than the mirror's: their
 * marks stay.
 */
interface TypedRowsOutcome {
  readonly changes: readonly RowChange[];
  readonly cleared: readonly string[];
  readonly early: readonly string[];
}

/** Fills the fields of live rows of the parent stream. An older version fills only a row that has no such fields yet (R22). */
export function fillTypedRows(
  { stream, rows, existing }: TypedRowsInput,
  read: Read,
  context: Context,
): TypedRowsOutcome {
  const changes: RowChange[] = [];
  const cleared: string[] = [];
  const early: string[] = [];
  for (const { key, row } of rows) {
    const id = joinKey(key);
    const before = existing.get(id);
    // Without a server time the age of the list is unknown, so the row is asked for again.
    const isEarly = isEarlier(row, before) && (read.at === null || mayLag(before, read, context));
    (isEarly ? early : cleared).push(id);
    if (before === undefined || !takes(stream, before) || (isEarly && isFilled(stream, before))) continue;
    const written = Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, row[name] ?? null]));
    const merged = { ...before, ...written };
    if (!sameRow(stream.fields, before, merged)) changes.push({ row: merged, kind: 'updated' });
  }
  return { changes, cleared, early };
}

/** Whether the typed list fills this row. */
function takes({ subtype }: Stream, row: Row): boolean {
  return row['deleted_at'] === null && subtype !== undefined && row[subtype.field] === subtype.is;
}

function isEarlier({ synced_at: shown }: Row, existing: Row | undefined): boolean {
  const at = existing?.['synced_at'];
  return typeof shown === 'string' && typeof at === 'string' && shown < at;
}

/**
 * Whether the typed list may show an older version of the row than the mirror has. This may be so if the mirror's version is newer
 * than the time of the read less the overlap (R10, R22).
 */
export function mayLag(row: Row | undefined, read: Read, context: Context): boolean {
  const at = withoutFuture(row, context.latestServerTime)?.['synced_at'];
  const floor = trustedUntilOf(read, context);
  return typeof at === 'string' && (floor === null || at > floor);
}

/** Whether a row has the required fields of its kind; true for a row that is not there. */
export function isFilled({ writes = [], fields }: Stream, row: Row | undefined): boolean {
  return row === undefined || writes.every((name) => !fields[name]?.required || row[name] !== null);
}
