import { type DecodedPage, joinKey } from '../core/decode.ts';
import { decodeSlices } from '../core/decode-slices.ts';
import { differenceOf, type ExistingRow, isLive } from '../core/difference.ts';
import type { RowKey, RowKeys } from '../core/mirror-reader.ts';
import { causeOf } from '../core/pending.ts';
import type { Page } from '../core/source.ts';
import { readPages, type StreamContext } from './contexts.ts';
import { add, type Mismatch, type MismatchList, mismatchOf, noMismatches, rejectedMismatch } from './mismatches.ts';
import { causesOf, ownerIds, readChanges, timesOf } from './read-changes.ts';

/** What a whole read of one stream has shown so far. */
export interface StreamComparison {
  rows: number;
  /** Suspects that nobody has asked the feeds about. */
  fresh: Mismatch[];
  /** Those that nothing explains. */
  readonly suspects: MismatchList;
  /** Those that the next sync brings. */
  readonly pending: MismatchList;
}

export function nothingCompared(): StreamComparison {
  return { rows: 0, fresh: [], suspects: noMismatches(), pending: noMismatches() };
}

/**
 * Reads every list of the stream and compares each row shown with the one held; what is then held and was not shown is
 * extra. Tells of all it finds in `compared`, so that a read that is cut off leaves what it has found.
 */
export async function compareStream(streamContext: StreamContext, streamComparison: StreamComparison): Promise<void> {
  const { stream, holding } = streamContext;
  await holding.forget(stream);
  for (const variant of stream.scanQueries) {
    const rows = streamComparison.rows;
    const beyond = { ...streamComparison.suspects.beyond };
    await readPages(streamContext, variant, {
      // What the read said before it had to start anew does not count twice.
      begin: () => {
        streamComparison.rows = rows;
        Object.assign(streamComparison.suspects.beyond, beyond);
      },
      async page(page) {
        await comparePage(streamContext, page, streamComparison);
        if (streamComparison.fresh.length >= MANY) await classify(streamContext, streamComparison);
      },
    });
  }
  // Which rows of a kind there are, the stream that leads it decides.
  if (stream.subtype === undefined) await addExtras(streamContext, streamComparison);
  await holding.forget(stream);
  await classify(streamContext, streamComparison);
}

/** Rows looked up, and suspects explained, at once. */
const MANY = 5000;

async function comparePage(
  streamContext: StreamContext,
  page: Page,
  streamComparison: StreamComparison,
): Promise<void> {
  for (const decoded of decodeSlices(streamContext.stream, page.items, streamContext.context()))
    await compareSlice(streamContext, decoded, streamComparison);
}

async function compareSlice(
  streamContext: StreamContext,
  decoded: DecodedPage,
  streamComparison: StreamComparison,
): Promise<void> {
  const { stream, holding, depth } = streamContext;
  const keys = keysOf(decoded);
  const held = await holding.existing(stream, keys);
  const times = timesOf(streamContext);
  streamComparison.rows += decoded.rows.length;
  if (stream.subtype === undefined) await holding.recordSeen(stream, keys);
  for (const shown of decoded.rows) {
    const row = held.get(joinKey(shown.key));
    const difference = differenceOf(stream, row, shown, depth);
    if (difference === null) continue;
    const cause = causeOf(stream, { existing: row, shown }, times);
    streamComparison.fresh.push(
      mismatchOf(shown.key, difference, { cause, owners: ownerIds(streamContext, shown.row) }),
    );
  }
  streamComparison.fresh.push(...decoded.rejected.map((each) => rejectedMismatch(each, isHeldLive(each.key, held))));
}

export function keysOf({ rows, rejected }: DecodedPage): RowKey[] {
  return [...rows.map((row) => row.key), ...rejected.flatMap((row) => (row.key === null ? [] : [row.key]))];
}

export function isHeldLive(key: RowKey | null, held: ReadonlyMap<string, ExistingRow>): boolean {
  const found = key === null ? undefined : held.get(joinKey(key));
  return found !== undefined && isLive(found.row);
}

/** Rows held and not shown. It ends: each turn begins after the last key of the one before. */
export async function addExtras(
  streamContext: StreamContext,
  streamComparison: StreamComparison,
  within?: Parameters<StreamContext['holding']['unseenKeys']>[2],
): Promise<void> {
  const { stream, holding } = streamContext;
  const times = timesOf(streamContext);
  for (let after: RowKey | null = null; ; ) {
    const rowKeys: RowKeys = await holding.unseenKeys(stream, { after, limit: MANY }, within);
    const held = await holding.existing(stream, rowKeys);
    for (const key of rowKeys) {
      const row = held.get(joinKey(key));
      const cause = causeOf(stream, { existing: row, shown: undefined }, times);
      const owners = ownerIds(streamContext, row?.row);
      streamComparison.fresh.push(mismatchOf(key, { what: 'extra', fields: [] }, { cause, owners }));
    }
    if (rowKeys.length < MANY) return;
    await classify(streamContext, streamComparison);
    after = rowKeys.at(-1) as RowKey;
  }
}

/** Tells of the suspects whose removal is held back (R14). */
export async function heldBackOf(
  { stream, holding }: StreamContext,
  suspects: readonly Mismatch[],
): Promise<(mismatch: Mismatch) => boolean> {
  const extra = suspects.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  const held = await holding.heldRemovals(stream.name, extra);
  return ({ what, key }) => what === 'extra' && held.has(joinKey(key));
}

/** No reading of the whole lets go what is held back (R14). */
export function notBrought(mismatch: Mismatch): Mismatch {
  return mismatch.cause === 'ambiguous' ? { ...mismatch, cause: null } : mismatch;
}

/** Parts what the next sync brings from what nothing explains. */
export async function classify(streamContext: StreamContext, streamComparison: StreamComparison): Promise<void> {
  if (streamComparison.fresh.some(({ cause, why }) => cause === null && why === null)) await readChanges(streamContext);
  const cause = await causesOf(streamContext, streamComparison.fresh);
  const isHeldBack = await heldBackOf(streamContext, streamComparison.fresh);
  for (const suspect of streamComparison.fresh) {
    const explained = { ...suspect, cause: cause(isHeldBack(suspect) ? notBrought(suspect) : suspect) };
    add(explained.cause === null ? streamComparison.suspects : streamComparison.pending, explained);
  }
  const asked = streamComparison.fresh.filter(
    (each) => streamContext.stream.method === 'feed' && cause(each) === 'ambiguous',
  );
  if (asked.length > 0)
    await streamContext.holding.recordPending(
      'asked',
      streamContext.stream.name,
      asked.map(({ key }) => key[0] ?? ''),
    );
  streamComparison.fresh = [];
}
