import type { PageRequest, Source } from '../core/source.ts';
import type { MeasuredList } from '../core/state-store.ts';
import type { Stream } from '../core/stream.ts';

interface MeasuredRead {
  readonly cursor: string | null;
  readonly pages: number;
  readonly rows: number;
}

/** The source, measuring every list that is read whole in this run; feeds and what is asked for by id are none. */
export function measuring(
  source: Source,
  streams: readonly Stream[],
  onList: (list: MeasuredList) => Promise<void>,
): Source {
  const walks = new Map<string, MeasuredRead>();
  return {
    ...source,
    async page(request, onRequest) {
      const page = await source.page(request, onRequest);
      const list = listOf(request, streams);
      if (list === null) return page;
      const key = `${list.env_id} ${list.stream} ${list.variant} ${list.page_size}`;
      const before = request.cursor === null ? FIRST : walks.get(key);
      // A read that was begun in an earlier run, or over again from elsewhere, is not known whole.
      if (before === undefined || before.cursor !== request.cursor) return page;
      const walk = { cursor: page.nextCursor, pages: before.pages + 1, rows: before.rows + page.items.length };
      walks.set(key, walk);
      if (!page.hasMore) await onList({ ...list, pages: walk.pages, rows: walk.rows });
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
