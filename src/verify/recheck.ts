import { chunksOf } from '../core/decide/chunk.ts';
import { type DecodedRow, decodePage, joinKey, type RejectedRow } from '../core/decode/decode.ts';
import type { Page } from '../core/ports/source.ts';
import { idsParameterOf } from '../core/stream.ts';
import { compareRow, isLiveIn } from './compare-stream.ts';
import type { StreamContext } from './contexts.ts';
import { explain } from './explain.ts';
import { addMismatch, type Mismatch, rejectedMismatch } from './mismatch.ts';
import { rereadChanges } from './read-changes.ts';
import { readList } from './read-list.ts';
import type { StreamVerification } from './stream-verification.ts';

/** The most requests that check the rows of one stream again. */
const MAX_REQUESTS = 50;

/**
 * Requests every unexplained mismatch again by its id, because pages shift while they are read and a sync may be
 * running. A row is different if it still differs, the source has not changed it since the last sync, and the mirror
 * has not changed it meanwhile.
 */
export async function recheck({ streamContext, unexplained }: StreamVerification): Promise<void> {
  const { stream, reader } = streamContext;
  const { found, unread } = await requestAgain(streamContext, [...unexplained.listed.values()], MAX_REQUESTS);
  if (found.length > 0) await rereadChanges(streamContext);
  const mismatches = found.map(({ mismatch }) => mismatch);
  const explained = await explain(streamContext, mismatches);
  const keys = explained.flatMap(({ key }) => (key.length === 0 ? [] : [key]));
  const existing = await reader.existing(stream, keys);
  const standing = explained.filter(
    ({ key }, i) => key.length === 0 || found[i]?.before === JSON.stringify(existing.get(joinKey(key))),
  );
  unexplained.listed.clear();
  for (const mismatch of standing)
    addMismatch(unexplained, mismatch.verdict === 'possible' ? { ...mismatch, verdict: 'different' } : mismatch);
  for (const mismatch of unread) addMismatch(unexplained, mismatch);
}

/** The joined keys of the rows that still differ, however many requests it takes. */
export async function stillDiffering(
  context: StreamContext,
  mismatches: readonly Mismatch[],
): Promise<ReadonlySet<string>> {
  const { found } = await requestAgain(context, mismatches, Number.POSITIVE_INFINITY);
  const changed = new Set(mismatches.filter(({ verdict }) => verdict === 'changed').map(({ key }) => joinKey(key)));
  // A row that the source has changed since its repair counts as repaired.
  const differing = found.filter(
    ({ mismatch: { verdict, key } }) => verdict !== 'changed' || changed.has(joinKey(key)),
  );
  return new Set(differing.map(({ mismatch }) => joinKey(mismatch.key)));
}

/** A row that still differs, and the mirror's row as text before the request. */
interface RecheckedRow {
  readonly mismatch: Mismatch;
  readonly before: string | undefined;
}

/** It ends because each turn requests one chunk of the ids. */
async function requestAgain(
  context: StreamContext,
  mismatches: readonly Mismatch[],
  maxRequests: number,
): Promise<{ found: RecheckedRow[]; unread: Mismatch[] }> {
  const byId = Map.groupBy(mismatches, ({ key }) => key[0] ?? '');
  // A row without a key cannot be requested.
  const found: RecheckedRow[] = (byId.get('') ?? []).map((mismatch) => ({ mismatch, before: undefined }));
  const unread: Mismatch[] = [];
  const { pageSize } = context.context().options;
  let left = maxRequests;
  const counting: StreamContext = {
    ...context,
    onRequest() {
      left -= 1;
      context.onRequest();
    },
  };
  const ids = [...byId.keys()].filter((id) => id !== '').sort();
  for (const chunk of chunksOf(idsParameterOf(context.stream), ids, pageSize)) {
    const asked = chunk.flatMap((id) => byId.get(id) ?? []);
    if (left < context.stream.scanQueries.length) unread.push(...asked);
    else found.push(...(await requestChunk(counting, chunk, asked)));
  }
  return { found, unread };
}

async function requestChunk(
  context: StreamContext,
  ids: readonly string[],
  mismatches: readonly Mismatch[],
): Promise<RecheckedRow[]> {
  const { stream, reader } = context;
  const keys = mismatches.map(({ key }) => key);
  const existing = await reader.existing(stream, keys);
  const shown = new Map<string, DecodedRow>();
  const rejected = new Map<string, RejectedRow>();
  const onPage = ({ items }: Page): void => {
    const decoded = decodePage(stream, items, context.context());
    for (const row of decoded.rows) if (row.deletedAt === null) shown.set(joinKey(row.key), row);
    for (const row of decoded.rejected) if (row.key !== null) rejected.set(joinKey(row.key), row);
  };
  // A row may be in any list of the stream (R12).
  for (const query of stream.scanQueries)
    await readList(context, { ...query, [idsParameterOf(stream)]: ids }, { onPage });
  return keys.flatMap((key) => {
    const joined = joinKey(key);
    const refused = rejected.get(joined);
    const pair = { existing: existing.get(joined), shown: shown.get(joined) };
    const mismatch = refused ? rejectedMismatch(refused, isLiveIn(existing, key)) : compareRow(context, key, pair);
    return mismatch === null ? [] : [{ mismatch, before: JSON.stringify(pair.existing) }];
  });
}
