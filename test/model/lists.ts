import type { Query } from '../../src/core/ports/source.ts';
import { entryNamed, FEED_ENTRIES, FEED_STREAMS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';
import { currentScore, FAR_AHEAD, type Item, type Kind, type Place, type Thing } from './place.ts';

/** A row of a list in the making: rows that are not `shown` are trimmed off after the page is read. */
export interface Listed {
  readonly key: string;
  readonly item: Item;
  readonly shown: boolean;
  /** A version that has been replaced. */
  readonly isOld?: true;
}

const COMMON = new Set(
  'id name kind source_type description owners tags parent_id path created_at updated_at synced_at'.split(' '),
);
const TYPED = new Set(
  'data_platform db_name schema_name table_name materialization bi_platform bi_type url cluster_by'.split(' '),
);

type List = (place: Place, query: Query, oldest: string) => Listed[];

/** A list that has feeds, and for each value of `disabled` its rows where it is read by that. */
const feedList =
  ({ name, scanQueries }: (typeof FEED_ENTRIES)[number]): List =>
  (place, query, oldest) =>
    things(place, place[name], query, oldest).filter(
      ({ item }) => scanQueries.length === 1 || isFeed(query) || item['disabled'] === (query['disabled'] === 'true'),
    );

/** Every list of the service by its path under the environment. */
export const LISTS: Readonly<Record<string, List>> = {
  ...Object.fromEntries(FEED_ENTRIES.map((entry) => [entry.path.join('/'), feedList(entry)])),
  assets: (place, query, oldest) =>
    things(place, place.assets, query, oldest).map((row) => ({ ...row, item: generic(row.item) })),
  'assets/tables': (place, query, oldest) => typed(place, 'table', query, oldest),
  'assets/bi': (place, query, oldest) => typed(place, 'bi', query, oldest),
  'asset-lineage': assetEdges,
  'column-lineage': columnEdges,
  'latest-test-executions': (place, query) =>
    [...place.latest.values()].flatMap((item) => {
      const test = place.tests.get(String(item['test_id']));
      if (test?.state !== 'live' || test.item['disabled'] !== (query['disabled'] === 'true')) return [];
      return [{ key: String(item['sub_test_unique_id']), item, shown: isShown(place, test.item) }];
    }),
  'asset-health-scores': (place) =>
    [...place.scores].flatMap(([id, score]) => {
      const item = currentScore(place, score);
      return item !== null && isLiveTable(place, id) ? [{ key: id, item, shown: !place.hidden.has(id) }] : [];
    }),
};

/** A test's history; null when there is no such test to be seen. */
export function history(place: Place, testId: string, query: Query, oldest: string): Listed[] | null {
  const test = place.tests.get(testId);
  if (test?.state !== 'live' || !isShown(place, test.item)) return null;
  const from = later(String(query['start_time_from']), oldest);
  return place.executions
    .filter((item) => item['test_id'] === testId && instant(item['start_time']) >= from)
    .map((item) => ({ key: `${instant(item['start_time'])} ${item['id']}`, item, shown: true }));
}

/** Tables alone have scores. */
export function isLiveTable(place: Place, id: string): boolean {
  const asset = place.assets.get(id);
  return asset?.state === 'live' && asset.item['kind'] === 'table';
}

/** As the service compares: fixed width, no zone. */
function instant(value: unknown): string {
  const [whole = '', fraction = ''] = String(value).replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}

/** The fields that name the asset that an item belongs to. */
const ASSET_FIELDS = new Set(FEED_ENTRIES.flatMap(({ parent }) => (parent?.table === 'assets' ? parent.by : [])));

export function isShown(place: Place, item: Item): boolean {
  return [...ASSET_FIELDS].every((field) => !place.hidden.has(String(item[field])));
}

function things(place: Place, held: ReadonlyMap<string, Thing>, query: Query, oldest: string): Listed[] {
  const { parent } = entryNamed(kindOf(place, held));
  const [ids, parents] = [setOf(query['ids']), setOf(query[parent?.parameter ?? ''])];
  const shown = (item: Item): boolean =>
    held === place.assets ? !place.hidden.has(String(item['id'])) : isShown(place, item);
  return [...held].flatMap(([id, thing]) => {
    const { item } = thing;
    if (ids?.has(id) === false || parents?.has(String(item[parent?.by ?? ''])) === false) return [];
    const key = keyOf(thing, id, query, oldest);
    const sent =
      query['deleted_since'] === undefined ? sentAs(place, held, item) : { ...item, deleted_at: diedAt(thing) };
    const rows = key === null ? [] : [{ key, item: sent, shown: shown(item) }];
    if (query['synced_since'] === undefined) return rows;
    const earlier = again(place, held, id, later(String(query['synced_since']), oldest));
    return [...earlier.map((row) => ({ ...row, shown: shown(row.item) && shown(item) })), ...rows];
  });
}

/** The version before, and the last one of what has died since, where the feed shows those as well. */
function again(place: Place, held: ReadonlyMap<string, Thing>, id: string, since: string): Listed[] {
  const thing = held.get(id);
  if (!place.repeating || thing?.state === 'lost') return [];
  const versions = [
    place.older.get(`${kindOf(place, held)} ${id}`),
    thing?.state === 'tombstone' ? thing.item : undefined,
  ];
  return versions.flatMap((item) => {
    const at = instant(item?.['synced_at'] ?? '');
    // One that comes with a time far ahead would be repeated for ever.
    return item === undefined || at < since || item['synced_at'] === FAR_AHEAD
      ? []
      : [{ key: `${at} ${id}`, item, shown: true, isOld: true as const }];
  });
}

function kindOf(place: Place, held: ReadonlyMap<string, Thing>): Kind {
  const kind = FEED_STREAMS.find((each) => held === place[each]);
  if (kind === undefined) throw new Error('no list of this place');
  return kind;
}

function sentAs(place: Place, held: ReadonlyMap<string, Thing>, item: Item): Item {
  if (place.spoiled.size === 0) return item;
  const kind = kindOf(place, held);
  return place.spoiled.has(`${kind} ${item['id']}`) ? { ...item, [spoiltField(kind)]: 7 } : item;
}

/** A text that every item has. */
function spoiltField(kind: Kind): string {
  const { fields, key } = entryNamed(kind);
  const texts = Object.entries(fields).filter(
    ([name, { type, required }]) => type === 'text' && required && !key.includes(name),
  );
  return texts.some(([name]) => name === 'name') ? 'name' : String(texts[0]?.[0]);
}

/** What the tombstones feed says of a thing; null when it is not in it. */
function diedAt({ state, deletedAt, oldDeletedAt }: Thing): string | null {
  return state === 'tombstone' ? deletedAt : (oldDeletedAt ?? null);
}

/** Where a thing stands in the list asked for; null for nowhere. */
function keyOf(thing: Thing, id: string, query: Query, oldest: string): string | null {
  if (query['deleted_since'] !== undefined) {
    const at = instant(diedAt(thing) ?? '');
    return diedAt(thing) !== null && at >= later(String(query['deleted_since']), oldest) ? `${at} ${id}` : null;
  }
  if (thing.state !== 'live') return null;
  if (query['synced_since'] === undefined) return id;
  const at = instant(thing.item['synced_at']);
  return at >= later(String(query['synced_since']), oldest) ? `${at} ${id}` : null;
}

const FILTERS = { db_names: 'db_name', schema_names: 'schema_name' } as const;

function typed(place: Place, kind: string, query: Query, oldest: string): Listed[] {
  const filters = Object.entries(FILTERS).flatMap(([name, field]) => {
    const wanted = setOf(query[name]);
    return wanted === undefined ? [] : [(item: Item) => wanted.has(String(item[field]))];
  });
  return things(place, place.assets, query, oldest)
    .flatMap((row) => versionAt(place, row))
    .filter(({ item, isOld }) => !isOld && item['kind'] === kind && filters.every((matches) => matches(item)))
    .map((row) => ({ ...row, item: ofKind(row.item, kind) }));
}

const LAG_MS = 1_800_000;

/** Whether a change is so recent that a lagging list has not come to it. */
function isWithinLag(place: Place, changedAt: unknown): boolean {
  const ageMs = Date.parse(place.now()) - Date.parse(`${instant(changedAt)}Z`);
  return ageMs >= 0 && ageMs < LAG_MS;
}

/** The version of an asset that a typed list has come to: the one before, or none, where it lags behind (R22). */
function versionAt(place: Place, row: Listed): Listed[] {
  if (!place.typedLag || row.isOld || !isWithinLag(place, row.item['synced_at'])) return [row];
  const item = place.older.get(`assets ${row.item['id']}`);
  return item === undefined ? [] : [{ ...row, item }];
}

/** Without the fields that only a typed list shows. */
export function generic(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !TYPED.has(name)));
}

/** With the fields of its own kind alone. */
export function ofKind(item: Item, kind: string): Item {
  const other = kind === 'table' ? /^(bi_|url$)/ : /^(data_platform|db_name|schema_name|table_name|materialization)$/;
  return Object.fromEntries(Object.entries(item).filter(([name]) => COMMON.has(name) || !other.test(name)));
}

function assetEdges(place: Place): Listed[] {
  const live = (id: string): boolean => place.assets.get(id)?.state === 'live';
  return [...place.assetEdges].flatMap(([key, [up, down]]) =>
    live(up) && live(down)
      ? [{ key, item: SAMPLES.asset_lineage(down, up), shown: !place.hidden.has(up) && !place.hidden.has(down) }]
      : [],
  );
}

/** The feeds go by the downstream column's times. */
function columnEdges(place: Place, query: Query, oldest: string): Listed[] {
  const wanted = setOf(query['column_ids']);
  return visibleEdges(place).flatMap(([key, [up, down]]) => {
    const column = place.columns.get(down);
    if (column === undefined || wanted?.has(down) === false) return [];
    const at = keyOf(column, down, query, oldest);
    return at === null
      ? []
      : [{ key: `${at} ${key}`, item: SAMPLES.column_lineage(down, up), shown: isShown(place, column.item) }];
  });
}

/** The edges that the list has come to: those of before, where it lags behind a column's change (R18). */
function visibleEdges(place: Place): [string, readonly [string, string]][] {
  if (!place.edgeLag) return [...place.columnEdges];
  const lagging = new Map([...place.olderEdges].filter(([, { until }]) => isWithinLag(place, until)));
  const current = [...place.columnEdges].filter(([, [, down]]) => !lagging.has(down));
  const earlier = [...lagging].flatMap(([down, { ups }]) =>
    ups.map((up): [string, [string, string]] => [`${up}>${down}`, [up, down]]),
  );
  return [...current, ...earlier];
}

function isFeed(query: Query): boolean {
  return query['synced_since'] !== undefined || query['deleted_since'] !== undefined;
}

function setOf(value: Query[string] | undefined): Set<string> | undefined {
  return Array.isArray(value) ? new Set(value as string[]) : undefined;
}

/** The silent clamp of a lower bound. */
function later(bound: string, oldest: string): string {
  const [a, b] = [instant(bound), instant(oldest)];
  return a > b ? a : b;
}
