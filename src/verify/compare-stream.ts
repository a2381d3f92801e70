import { differenceOf, type ExistingRow, isLive } from '../core/decide/difference.ts';
import { causeOf, type RowPair } from '../core/decide/pending.ts';
import { type DecodedPage, joinKey } from '../core/decode/decode.ts';
import { decodeSlices } from '../core/decode/decode-slices.ts';
import type { RowKey, RowKeys, TableFilter } from '../core/ports/mirror-reader.ts';
import { parentIdsOf, refreshTimesOf, type StreamContext } from './contexts.ts';
import { explain } from './explain.ts';
import { fieldValues } from './field-values.ts';
import { addMismatch, isPending, type Mismatch, mismatchOf, rejectedMismatch } from './mismatch.ts';
import { readChanges } from './read-changes.ts';
import { readList } from './read-list.ts';
import type { StreamVerification } from './stream-verification.ts';

/** How many mismatches are explained, and extra rows looked up, at a time. */
const BATCH = 5000;

/** Reads every list of the stream and compares it with the mirror. A mirrored row that no list returned is extra. */
export async function compareStream(verification: StreamVerification): Promise<void> {
  const { streamContext, unexplained } = verification;
  const { stream, reader, context } = streamContext;
  await reader.forget(stream);
  for (const query of stream.scanQueries) {
    const { rows } = verification;
    const unlisted = { ...unexplained.unlisted };
    await readList(streamContext, query, {
      // A restarted read counts its rows only once.
      onStart() {
        verification.rows = rows;
        Object.assign(unexplained.unlisted, unlisted);
      },
      async onPage({ items }) {
        for (const decoded of decodeSlices(stream, items, context())) await compareSlice(verification, decoded);
        if (verification.fresh.length >= BATCH) await classifyDifference(verification);
      },
    });
  }
  // The stream of all assets decides which rows of a kind exist.
  if (stream.subtype === undefined) await addExtras(verification, stream);
  await reader.forget(stream);
}

async function compareSlice(verification: StreamVerification, decoded: DecodedPage): Promise<void> {
  const { streamContext, fresh } = verification;
  const { stream, reader } = streamContext;
  const keys = keysOf(decoded);
  const existing = await reader.existing(stream, keys);
  if (stream.subtype === undefined) await reader.recordSeen(stream, keys);
  verification.rows += decoded.rows.length;
  for (const shown of decoded.rows) {
    const mismatch = compareRow(streamContext, shown.key, { existing: existing.get(joinKey(shown.key)), shown });
    if (mismatch !== null) fresh.push(mismatch);
  }
  fresh.push(...decoded.rejected.map((row) => rejectedMismatch(row, isLiveIn(existing, row.key))));
}

/** How both sides of one row differ; null if they are equal. */
export function compareRow(context: StreamContext, key: RowKey, pair: RowPair): Mismatch | null {
  const { stream, depth } = context;
  const { existing, shown } = pair;
  const isExtra = existing !== undefined && isLive(existing.row) && stream.subtype === undefined;
  const extra = isExtra ? ({ what: 'extra', fields: [] } as const) : null;
  const difference = shown === undefined ? extra : differenceOf(stream, existing, shown, depth);
  if (difference === null) return null;
  const verdict = causeOf(stream, pair, refreshTimesOf(context)) ?? 'possible';
  const values = fieldValues(stream, difference, pair);
  const parentIds = parentIdsOf(context, shown?.row ?? existing?.row);
  return mismatchOf(key, difference, { verdict, values, parentIds });
}

export function keysOf({ rows, rejected }: DecodedPage): RowKey[] {
  return [...rows.map((row) => row.key), ...rejected.flatMap((row) => (row.key === null ? [] : [row.key]))];
}

export function isLiveIn(existing: ReadonlyMap<string, ExistingRow>, rowKey: RowKey | null): boolean {
  const found = rowKey === null ? undefined : existing.get(joinKey(rowKey));
  return found !== undefined && isLive(found.row);
}

/**
 * Adds the rows that the source did not return to the read of `seenBy`. It ends because each turn starts after the last
 * key of the previous one.
 */
export async function addExtras(
  verification: StreamVerification,
  seenBy: StreamContext['stream'],
  within?: TableFilter,
): Promise<void> {
  const { streamContext } = verification;
  const { stream, reader } = streamContext;
  for (let after: RowKey | null = null; ; ) {
    const keys: RowKeys = await reader.unseenKeys(seenBy, { after, limit: BATCH }, within);
    const existing = await reader.existing(stream, keys);
    for (const key of keys) {
      const mismatch = compareRow(streamContext, key, { existing: existing.get(joinKey(key)), shown: undefined });
      if (mismatch !== null) verification.fresh.push(mismatch);
    }
    if (keys.length < BATCH) return;
    await classifyDifference(verification);
    after = keys.at(-1) as RowKey;
  }
}

/** Separates the mismatches that the next sync removes from the unexplained ones. */
export async function classifyDifference(verification: StreamVerification): Promise<void> {
  const { streamContext, fresh, pending, unexplained } = verification;
  const { stream, reader } = streamContext;
  if (fresh.some(({ verdict, why }) => verdict === 'possible' && why === null)) await readChanges(streamContext);
  const explained = await explain(streamContext, fresh);
  for (const mismatch of explained) addMismatch(isPending(mismatch) ? pending : unexplained, mismatch);
  // The next sync looks these rows up by their parents, so rows that belong to them may change too.
  const asked = explained.filter(({ verdict }) => stream.method === 'feed' && verdict === 'ambiguous');
  const ids = asked.map(({ key }) => key[0] ?? '');
  if (ids.length > 0) await reader.recordPending('asked', stream.name, ids);
  verification.fresh = [];
}
