import type { Read } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { type DecodedRow, joinKey } from '../decode/decode.ts';
import type { Row, Stream } from '../stream.ts';
import { isAfter, type RowChange, sameRow, withoutFuture } from './newest-wins.ts';
import { settledBefore } from './trusted-until.ts';

/** Rows of a typed list, and the mirror's rows under their keys. */
interface TypedRowsInput {
  readonly stream: Stream;
  readonly rows: readonly DecodedRow[];
  readonly existing: ReadonlyMap<string, Row>;
}

/** The changes, the ids whose marks are cleared, and those whose marks stay: `unsettled`, some of them `lagging`. */
interface TypedRowsOutcome {
  readonly changes: readonly RowChange[];
  readonly cleared: readonly string[];
  readonly unsettled: readonly string[];
  /** The list returned an older version than the mirror has. */
  readonly lagging: readonly string[];
}

/** Fills in fields of the parent stream's live rows. An older version fills only a row whose fields are empty (R22). */
export function fillTypedRows(
  { stream, rows, existing }: TypedRowsInput,
  read: Read,
  context: Context,
): TypedRowsOutcome {
  const changes: RowChange[] = [];
  const cleared: string[] = [];
  const unsettled: string[] = [];
  const lagging: string[] = [];
  for (const { key, row } of rows) {
    const id = joinKey(key);
    const before = existing.get(id);
    const isOpen = isUnsettled(before, read, context);
    (isOpen ? unsettled : cleared).push(id);
    if (before === undefined || !takes(stream, before)) continue;
    const isLagging = isOpen && isAfter(before['synced_at'], row['synced_at']);
    if (isLagging) lagging.push(id);
    if (isLagging && isFilled(stream, before)) continue;
    const written = Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, row[name] ?? null]));
    const merged = { ...before, ...written };
    if (!sameRow(stream.fields, before, merged)) changes.push({ row: merged, kind: 'updated' });
  }
  return { changes, cleared, unsettled, lagging };
}

/** Whether the typed list fills this row. */
function takes({ subtype }: Stream, row: Row): boolean {
  return row['deleted_at'] === null && subtype !== undefined && row[subtype.field] === subtype.is;
}

/** Whether the row was so young when read that the source may still commit its dependents (R18, R22). */
function isUnsettled(row: Row | undefined, read: Read, context: Context): boolean {
  const at = withoutFuture(row, context.newestReading)?.['synced_at'];
  const settled = settledBefore(read, context);
  return typeof at === 'string' && (settled === null || at > settled);
}

/** Whether a row has the required fields of its kind. */
function isFilled({ writes = [], fields }: Stream, row: Row): boolean {
  return writes.every((name) => !fields[name]?.required || row[name] !== null);
}
