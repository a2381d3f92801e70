import { isOutOfLookback } from '../core/context.ts';
import { type DecodedRow, decodePage, joinKey } from '../core/decode.ts';
import { isLive } from '../core/difference.ts';
import type { Instant } from '../core/instant.ts';
import { changesAhead, type PendingCause, type RefreshTimes } from '../core/pending.ts';
import { parentsOf, type Row, type Stream } from '../core/stream.ts';
import { readPages, type StreamContext } from './contexts.ts';
import type { Mismatch } from './mismatches.ts';

/** A stream, and every one that there is. */
type StreamAmong = Pick<StreamContext, 'catalogue' | 'stream'>;

interface OwnerStream {
  readonly by: string;
  readonly stream: Stream;
}

/** To what the rows of a stream belong, and what they follow: those of a marked stream the row that is marked. */
function ownersOf({ catalogue, stream }: StreamAmong): readonly OwnerStream[] {
  const own = parentsOf(stream).map(({ by, table }) => ({
    by,
    stream: catalogue.find((entry) => entry.table === table && entry.method === 'feed') as Stream,
  }));
  if (own.length > 0) return stream.method === 'marked' ? own.slice(0, 1) : own;
  const leader = catalogue.find(({ name }) => name === stream.dependencies[0]);
  return leader === undefined ? [] : [{ by: stream.key[0], stream: leader }];
}

export function ownerIds(of: StreamAmong, row: Row | undefined): string[] {
  return ownersOf(of).flatMap(({ by }) => (typeof row?.[by] === 'string' ? [row[by]] : []));
}

/** The feeds that tell what became of a stream's rows: its own, and those of what the rows belong to. */
function tellersOf({ catalogue, stream }: StreamAmong): ReadonlySet<Stream> {
  const above = ownersOf({ catalogue, stream }).flatMap((owner) => [...tellersOf({ catalogue, stream: owner.stream })]);
  return new Set([...(stream.method === 'feed' ? [stream] : []), ...above]);
}

/** By what a stream's rows are judged: those of a typed one change with the stream that leads it. */
export function timesOf({ stream, checkpoints, context, refreshedAt, metRefreshAt }: StreamContext): RefreshTimes {
  const isTyped = stream.method === 'marked' && stream.subtype !== undefined;
  const leader = isTyped ? stream.dependencies[0] : stream.name;
  return {
    watermark: checkpoints.get(leader)?.watermark ?? null,
    now: context().serverTime,
    refreshedAt,
    metRefreshAt,
  };
}

/** Reads what the source has changed since the last sync, each feed once, and notes what the next sync does with it. */
export async function readChanges(streamContext: StreamContext): Promise<void> {
  for (const stream of tellersOf(streamContext)) {
    const teller = { ...streamContext, stream };
    const since = timesOf(teller).watermark;
    const learned = streamContext.learned.get(stream.name) ?? readFeedChanges(teller, since);
    streamContext.learned.set(stream.name, learned);
    await learned;
  }
}

/** Reads once more what the source has changed meanwhile, since the verification began. */
export async function rereadChanges(streamContext: StreamContext): Promise<void> {
  for (const stream of tellersOf(streamContext)) {
    const { watermark, now } = timesOf({ ...streamContext, stream });
    const since = watermark === null || now === null || watermark > now ? watermark : now;
    await readFeedChanges({ ...streamContext, stream }, since);
  }
}

/** What lies further back than the feeds reach, the next sync scans (R3): nothing tells of it. */
async function readFeedChanges(streamContext: StreamContext, since: Instant | null): Promise<void> {
  if (since === null || isOutOfLookback(since, streamContext.context())) return;
  const { stream, holding } = streamContext;
  for (const parameter of ['synced_since', 'deleted_since']) {
    await readPages(
      streamContext,
      { [parameter]: since },
      {
        async page({ items }) {
          const rows = await notOutlived(
            streamContext,
            decodePage(stream, items, { tombstones: parameter === 'deleted_since', ...streamContext.context() }).rows,
          );
          const held = await holding.existing(
            stream,
            rows.map(({ key }) => key),
          );
          const { changed, deleted, marks } = changesAhead(stream, rows, held);
          await holding.recordPending('changed', stream.name, changed);
          await holding.recordPending('deleted', stream.name, deleted);
          for (const [name, of] of Map.groupBy(marks, (mark) => mark.stream))
            await holding.recordPending(
              'marked',
              name,
              of.map(({ id }) => id),
            );
        },
      },
    );
  }
}

/** Without tombstones that are older than what the upserts feed has shown of their row: they apply to nothing (R10). */
async function notOutlived(
  { stream, holding }: StreamContext,
  rows: readonly DecodedRow[],
): Promise<readonly DecodedRow[]> {
  const dated = rows.flatMap(({ key, row, deletedAt }) =>
    deletedAt === null && typeof row['synced_at'] === 'string' ? [{ id: joinKey(key), at: row['synced_at'] }] : [],
  );
  if (dated.length > 0) await holding.recordFeedTime(stream.name, dated);
  const at = await holding.feedTimes(
    stream.name,
    rows.flatMap(({ key, deletedAt }) => (deletedAt === null ? [] : [joinKey(key)])),
  );
  return rows.filter(({ key, deletedAt }) => deletedAt === null || (at.get(joinKey(key)) ?? '') <= deletedAt);
}

/** Why the next sync brings a row, as far as the feeds and the mirror's own marks tell; null for one that differs for good. */
export async function causesOf(
  streamContext: StreamContext,
  suspects: readonly Mismatch[],
): Promise<(mismatch: Mismatch) => PendingCause | null> {
  const { stream, holding } = streamContext;
  const isFeed = stream.method === 'feed';
  const ids = [...new Set(suspects.flatMap(({ key, owners }) => [...key.slice(0, 1), ...owners]))];
  const changed = isFeed ? await holding.pendingIds('changed', stream.name, ids) : new Set();
  const marked = await holding.marked(stream.name, ids);
  // What is asked for by owner is asked for when the owner came or went, not when it changed (R13).
  const moved = isFeed ? new Set() : await movedOwners(streamContext, ids);
  const living = isFeed ? await livingOwners(streamContext, ids) : new Set();
  const unmoved = stream.method === 'marked' ? await unmovedOwners(streamContext, ids) : new Set();
  return ({ what, key: [id = ''], owners, cause, why }) => {
    if (cause !== null || why !== null) return cause;
    if (changed.has(id)) return 'changed';
    // Of an owner that is gone, the rows that live are asked for, and no others.
    const isAsked = (owner: string): boolean =>
      marked.has(owner) && (what !== 'missing' || !isFeed || living.has(owner));
    // A column that lives on is asked for with its asset, and its edges are not.
    const isMoved = (owner: string): boolean =>
      moved.has(owner) && (what !== 'missing' || stream.method !== 'marked' || !unmoved.has(owner));
    return owners.some((owner) => isAsked(owner) || isMoved(owner)) ? 'ambiguous' : null;
  };
}

/** Owners that live and that no feed tells of. */
async function unmovedOwners(
  { catalogue, stream, holding }: StreamContext,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const unmoved = new Set<string>();
  for (const { stream: owner } of ownersOf({ catalogue, stream })) {
    const keys = ids.map((id) => [id]);
    for (const [id, { row }] of await holding.existing(owner, keys)) if (isLive(row)) unmoved.add(id);
    for (const what of ['changed', 'asked'] as const)
      for (const id of await holding.pendingIds(what, owner.name, ids)) unmoved.delete(id);
  }
  return unmoved;
}

/** Owners that live after the next sync. */
async function livingOwners(
  { catalogue, stream, holding }: StreamContext,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const living = new Set<string>();
  for (const { stream: owner } of ownersOf({ catalogue, stream })) {
    const keys = ids.map((id) => [id]);
    for (const [id, { row }] of await holding.existing(owner, keys)) if (isLive(row)) living.add(id);
    for (const id of await holding.pendingIds('changed', owner.name, ids)) living.add(id);
    for (const id of await holding.pendingIds('deleted', owner.name, ids)) living.delete(id);
  }
  return living;
}

/** Owners that the next sync changes, or that go with an owner of their own; for snapshots, also those it has changed since. */
async function movedOwners(
  { catalogue, stream, holding, checkpoints }: StreamContext,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const watermark = stream.method === 'snapshot' ? checkpoints.get(stream.name)?.watermark : null;
  const keys = ids.map((id) => [id]);
  const moved = new Set<string>();
  for (const owner of new Set(ownersOf({ catalogue, stream }).map((each) => each.stream))) {
    for (const what of ['changed', 'asked'] as const)
      for (const id of await holding.pendingIds(what, owner.name, ids)) moved.add(id);
    const held = [...(await holding.existing(owner, keys))].map(([id, { row }]) => ({
      id,
      row,
      above: ownerIds({ catalogue, stream: owner }, row),
    }));
    const marked = await holding.marked(owner.name, [...new Set(held.flatMap(({ above }) => above))]);
    for (const { id, row, above } of held) {
      const isLater = [row['synced_at'], row['deleted_at']].some((at) => watermark && String(at ?? '') >= watermark);
      if (isLater || above.some((each) => marked.has(each))) moved.add(id);
    }
  }
  return moved;
}
