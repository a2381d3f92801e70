import type { PageRequest, Source } from '../core/ports/source.ts';
import type { MeasuredList } from '../core/ports/state-store.ts';
import type { Stream } from '../core/stream.ts';

interface MeasuredRead {
  readonly cursor: string | null;
  readonly pages: number;
  readonly rows: number;
}

/** Wraps a source and measures every list that this run reads completely. Feeds and `ids` lookups are not lists. */
export function measuring(
  source: Source,
  streams: readonly Stream[],
  onList: (list: MeasuredList) => Promise<void>,
): Source {
  const reads = new Map<string, MeasuredRead>();
  return {
    ...source,
    async page(request, onRequest) {
      const page = await source.page(request, onRequest);
      const list = listOf(request, streams);
      if (list === null) return page;
      const key = `${list.env_id} ${list.stream} ${list.variant} ${list.page_size}`;
      const before = request.cursor === null ? FIRST : reads.get(key);
      // A read that began in an earlier run is not complete in this one.
      if (before === undefined || before.cursor !== request.cursor) return page;
      const read = { cursor: page.nextCursor, pages: before.pages + 1, rows: before.rows + page.items.length };
      reads.set(key, read);
      if (!page.hasMore) await onList({ ...list, pages: read.pages, rows: read.rows });
      return page;
    },
  };
}

const FIRST: MeasuredRead = { cursor: null, pages: 0, rows: 0 };

/** The list that a page belongs to; null for other reads. */
function listOf(
  { path: [envId = '', ...path], query: { limit, ...variant } }: PageRequest,
  streams: readonly Stream[],
): Omit<MeasuredList, 'pages' | 'rows'> | null {
  const stream = streams.find((each) => each.path.join('/') === path.join('/'));
  const text = JSON.stringify(variant);
  if (stream === undefined || !stream.scanQueries.some((each) => JSON.stringify(each) === text)) return null;
  return { env_id: envId, stream: stream.name, variant: text, page_size: Number(limit) };
}
