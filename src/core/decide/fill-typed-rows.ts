import type { Read } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { joinKey } from '../decode/decode.ts';
import type { Row, Stream } from '../stream.ts';
import { isAfter, type RowChange, sameRow, withoutFuture } from './newest-wins.ts';
import { leaveMarks, type PageEffect, type PageInput } from './page-input.ts';
import { settledBefore } from './trusted-until.ts';

/** Fills in fields of the parent stream's live rows. An older version fills only a row whose fields are empty (R22). */
export function fillTypedRows(
  { stream, checkpoint, decoded, existing }: PageInput,
  read: Read,
  context: Context,
): PageEffect {
  const changes: RowChange[] = [];
  const cleared: string[] = [];
  // Rows younger than the overlap are read once more in a later run (R22).
  const unsettled: string[] = [];
  // Of these, the list returned an older version than the mirror has.
  const lagging: string[] = [];
  for (const { key, row } of decoded.rows) {
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
  // Before the first scan no marks were made, so none can stay.
  const makes = checkpoint.scanEndedCycle === null;
  const leftMarks = leaveMarks(checkpoint.round, makes ? lagging : unsettled, makes);
  return { changes, clearedMarks: { ids: cleared, lastMark: null }, ...leftMarks };
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
