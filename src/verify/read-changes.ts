import { isOutOfLookback } from '../core/context.ts';
import { changesAhead } from '../core/decide/pending.ts';
import { type DecodedRow, decodePage, joinKey } from '../core/decode/decode.ts';
import type { Stream } from '../core/stream.ts';
import type { Instant } from '../core/time/instant.ts';
import { parentStreamsOf, refreshTimesOf, type StreamContext } from './contexts.ts';
import { readList } from './read-list.ts';

/** The feeds that report changes of a stream's rows: its own, and those of the rows' parents. */
function feedsAbout({ catalogue, stream }: Pick<StreamContext, 'catalogue' | 'stream'>): ReadonlySet<Stream> {
  const parents = parentStreamsOf({ catalogue, stream }).map((parent) => parent.stream);
  const above = parents.flatMap((parent) => [...feedsAbout({ catalogue, stream: parent })]);
  return new Set([...(stream.method === 'feed' ? [stream] : []), ...above]);
}

/** Reads each feed once for changes since the last sync, and records what the next sync will do with them. */
export async function readChanges(context: StreamContext): Promise<void> {
  const { feedReads } = context;
  for (const stream of feedsAbout(context)) {
    const feed = { ...context, stream };
    const feedRead = feedReads.get(stream.name) ?? readFeeds(feed, refreshTimesOf(feed).watermark);
    feedReads.set(stream.name, feedRead);
    await feedRead;
  }
}

/** Reads what has changed at the source since the verification began. */
export async function rereadChanges(context: StreamContext): Promise<void> {
  for (const stream of feedsAbout(context)) {
    const feed = { ...context, stream };
    const { watermark, now } = refreshTimesOf(feed);
    await readFeeds(feed, watermark === null || now === null || watermark > now ? watermark : now);
  }
}

/** The feeds have a limited lookback; beyond it, the next sync scans these streams (R3). */
async function readFeeds(feed: StreamContext, since: Instant | null): Promise<void> {
  if (since === null || isOutOfLookback(since, feed.context())) return;
  for (const parameter of ['synced_since', 'deleted_since']) {
    const tombstones = parameter === 'deleted_since';
    const query = { [parameter]: since };
    await readList(feed, query, {
      async onPage({ items }) {
        const { rows } = decodePage(feed.stream, items, { tombstones, ...feed.context() });
        await recordChanges(feed, await withoutOutdated(feed, rows));
      },
    });
  }
}

async function recordChanges({ stream, reader }: StreamContext, rows: readonly DecodedRow[]): Promise<void> {
  const keys = rows.map(({ key }) => key);
  const { changed, deleted, marks } = changesAhead(stream, rows, await reader.existing(stream, keys));
  await reader.recordPending('changed', stream.name, changed);
  await reader.recordPending('deleted', stream.name, deleted);
  for (const [name, own] of Map.groupBy(marks, (mark) => mark.stream)) {
    const ids = own.map(({ id }) => id);
    await reader.recordPending('marked', name, ids);
  }
}

/** Drops tombstones that are older than the row in the upserts feed: a sync does not apply them (R10). */
async function withoutOutdated(
  { stream, reader }: StreamContext,
  rows: readonly DecodedRow[],
): Promise<readonly DecodedRow[]> {
  const changedAt = rows.flatMap(({ key, row, deletedAt }) =>
    deletedAt === null && typeof row['synced_at'] === 'string' ? [{ id: joinKey(key), at: row['synced_at'] }] : [],
  );
  if (changedAt.length > 0) await reader.recordFeedTime(stream.name, changedAt);
  const deleted = rows.flatMap(({ key, deletedAt }) => (deletedAt === null ? [] : [joinKey(key)]));
  const times = await reader.feedTimes(stream.name, deleted);
  return rows.filter(({ key, deletedAt }) => deletedAt === null || (times.get(joinKey(key)) ?? '') <= deletedAt);
}
