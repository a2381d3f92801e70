import type { FeedName } from '../../src/streams/catalogue.ts';
import type { Item } from '../model/environment.ts';
import { FEED_ENTRIES, FEED_STREAMS } from './catalogue.ts';
import type { ServedMirror } from './served-mirror.ts';

/** The envelope of a list. */
export interface Page {
  readonly items: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A client's copy: whole lists first, then only the feeds. */
export interface Copy {
  readonly held: Readonly<Record<FeedName, Map<string, Item>>>;
  /** Upstream columns by downstream column. */
  readonly edges: Map<string, Set<string>>;
  /** `Date` of the first response of the last round. */
  since: string | null;
}

/** One round: the time, each upserts feed before its tombstones feed, then the edges of changed columns. */
export async function follow(served: ServedMirror, copy: Copy, turn: () => Promise<void>): Promise<void> {
  const read = async (path: string): Promise<Item[]> => {
    const items: Item[] = [];
    for (let cursor: string | null = null; ; ) {
      await turn();
      const { body } = await served.get(`e1/${path}&limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
      const page = body as Page;
      items.push(...page.items);
      if (!page.has_more) return items;
      cursor = page.next_cursor;
    }
  };
  await turn();
  const { date } = await served.get('environments');
  const { since } = copy;
  const changed = new Set<string>();
  for (const { name, path, scanQueries } of FEED_ENTRIES) {
    const list = path.join('/');
    const lists = since === null ? fullLists(list, scanQueries) : [`${list}?synced_since=${since}`];
    for (const each of lists) for (const item of await read(each)) changed.add(upsert(copy.held[name], item));
    if (since === null) continue;
    for (const item of await read(`${list}?deleted_since=${since}`)) removeItem(copy.held[name], item);
  }
  const edges = Map.groupBy(
    await read(since === null ? 'column-lineage?order_by=id' : `column-lineage?synced_since=${since}`),
    (edge) => String(edge['downstream_column_id']),
  );
  for (const id of new Set([...changed, ...edges.keys()]))
    copy.edges.set(id, new Set(edges.get(id)?.map((edge) => String(edge['upstream_column_id']))));
  copy.since = date;
}

const fullLists = (list: string, { length }: readonly unknown[]) =>
  length > 1 ? [`${list}?disabled=false`, `${list}?disabled=true`] : [`${list}?order_by=id`];

function upsert(held: Map<string, Item>, item: Item): string {
  const id = String(item['id']);
  if (String(held.get(id)?.['synced_at'] ?? '') <= String(item['synced_at'])) held.set(id, item);
  return id;
}

function removeItem(held: Map<string, Item>, item: Item): void {
  const id = String(item['id']);
  if (String(held.get(id)?.['synced_at'] ?? '') <= String(item['deleted_at'])) held.delete(id);
}

export const empty = (): Copy => ({
  held: Object.fromEntries(FEED_STREAMS.map((name) => [name, new Map()])) as unknown as Copy['held'],
  edges: new Map(),
  since: null,
});
