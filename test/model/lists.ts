import type { Query } from '../../src/core/ports/source.ts';
import { entryNamed, FEED_ENTRIES, FEED_STREAMS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';
import { currentScore, type Entity, type EnvironmentModel, FAR_FUTURE, type Item, type Kind } from './environment.ts';

/** A row of a list before paging. Rows that are not `shown` are removed after the page was cut. */
export interface ListRow {
  readonly key: string;
  readonly item: Item;
  readonly shown: boolean;
  /** It is no longer the current version. */
  readonly isReplaced?: true;
}

const COMMON = new Set(
  'id name kind source_type description owners tags parent_id path created_at updated_at synced_at'.split(' '),
);
const TYPED = new Set(
  'data_platform db_name schema_name table_name materialization bi_platform bi_type url cluster_by'.split(' '),
);

type List = (env: EnvironmentModel, query: Query, oldest: string) => ListRow[];

/** A list that has feeds. If scans filter by `disabled`, so does the list. */
const feedList =
  ({ name, scanQueries }: (typeof FEED_ENTRIES)[number]): List =>
  (env, query, oldest) =>
    entityRows(env, env[name], query, oldest).filter(
      ({ item }) => scanQueries.length === 1 || isFeed(query) || item['disabled'] === (query['disabled'] === 'true'),
    );

/** Every list of the service, by its path within the environment. */
export const LISTS: Readonly<Record<string, List>> = {
  ...Object.fromEntries(FEED_ENTRIES.map((entry) => [entry.path.join('/'), feedList(entry)])),
  assets: (env, query, oldest) =>
    entityRows(env, env.assets, query, oldest).map((row) => ({ ...row, item: generic(row.item) })),
  'assets/tables': (env, query, oldest) => typedRows(env, 'table', query, oldest),
  'assets/bi': (env, query, oldest) => typedRows(env, 'bi', query, oldest),
  'asset-lineage': assetEdges,
  'column-lineage': columnEdges,
  'latest-test-executions': (env, query) =>
    [...env.latest.values()].flatMap((item) => {
      const test = env.tests.get(String(item['test_id']));
      if (test?.state !== 'live' || test.item['disabled'] !== (query['disabled'] === 'true')) return [];
      return [{ key: String(item['sub_test_unique_id']), item, shown: isShown(env, test.item) }];
    }),
  'asset-health-scores': (env) =>
    [...env.scores].flatMap(([id, score]) => {
      const item = currentScore(env, score);
      return item !== null && isLiveTable(env, id) ? [{ key: id, item, shown: !env.hidden.has(id) }] : [];
    }),
};

/** A test's history; null if the token sees no such test. */
export function history(env: EnvironmentModel, testId: string, query: Query, oldest: string): ListRow[] | null {
  const test = env.tests.get(testId);
  if (test?.state !== 'live' || !isShown(env, test.item)) return null;
  const from = later(String(query['start_time_from']), oldest);
  return env.executions
    .filter((item) => item['test_id'] === testId && instant(item['start_time']) >= from)
    .map((item) => ({ key: `${instant(item['start_time'])} ${item['id']}`, item, shown: true }));
}

/** Only tables have scores. */
export function isLiveTable(env: EnvironmentModel, id: string): boolean {
  const asset = env.assets.get(id);
  return asset?.state === 'live' && asset.item['kind'] === 'table';
}

/** The form in which the service compares times: fixed width, no zone. */
function instant(value: unknown): string {
  const [whole = '', fraction = ''] = String(value).replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}

/** The fields that name the asset that an item belongs to. */
const ASSET_FIELDS = new Set(FEED_ENTRIES.flatMap(({ parent }) => (parent?.table === 'assets' ? parent.by : [])));

export function isShown(env: EnvironmentModel, item: Item): boolean {
  return [...ASSET_FIELDS].every((field) => !env.hidden.has(String(item[field])));
}

function entityRows(
  env: EnvironmentModel,
  entities: ReadonlyMap<string, Entity>,
  query: Query,
  oldest: string,
): ListRow[] {
  const { parent } = entryNamed(kindOf(env, entities));
  const [ids, parents] = [setOf(query['ids']), setOf(query[parent?.parameter ?? ''])];
  const shown = (item: Item): boolean =>
    entities === env.assets ? !env.hidden.has(String(item['id'])) : isShown(env, item);
  return [...entities].flatMap(([id, thing]) => {
    const { item } = thing;
    if (ids?.has(id) === false || parents?.has(String(item[parent?.by ?? ''])) === false) return [];
    const key = sortKey(thing, id, query, oldest);
    const sent =
      query['deleted_since'] === undefined
        ? asSent(env, entities, item)
        : { ...item, deleted_at: tombstoneTime(thing) };
    const rows = key === null ? [] : [{ key, item: sent, shown: shown(item) }];
    if (query['synced_since'] === undefined) return rows;
    const earlier = redelivered(env, entities, id, later(String(query['synced_since']), oldest));
    return [...earlier.map((row) => ({ ...row, shown: shown(row.item) && shown(item) })), ...rows];
  });
}

/** Earlier versions that the feed returns as well: the previous one, and the last one of a deleted entity. */
function redelivered(
  env: EnvironmentModel,
  entities: ReadonlyMap<string, Entity>,
  id: string,
  since: string,
): ListRow[] {
  const thing = entities.get(id);
  if (!env.redelivers || thing?.state === 'lost') return [];
  const versions = [
    env.previousVersions.get(`${kindOf(env, entities)} ${id}`),
    thing?.state === 'tombstone' ? thing.item : undefined,
  ];
  return versions.flatMap((item) => {
    const at = instant(item?.['synced_at'] ?? '');
    // A version stamped in the future would be repeated for ever.
    return item === undefined || at < since || item['synced_at'] === FAR_FUTURE
      ? []
      : [{ key: `${at} ${id}`, item, shown: true, isReplaced: true as const }];
  });
}

function kindOf(env: EnvironmentModel, entities: ReadonlyMap<string, Entity>): Kind {
  const kind = FEED_STREAMS.find((each) => entities === env[each]);
  if (kind === undefined) throw new Error('the entities belong to no list of this environment');
  return kind;
}

function asSent(env: EnvironmentModel, entities: ReadonlyMap<string, Entity>, item: Item): Item {
  if (env.malformed.size === 0) return item;
  const kind = kindOf(env, entities);
  return env.malformed.has(`${kind} ${item['id']}`) ? { ...item, [malformedField(kind)]: 7 } : item;
}

/** A text field that every item has. */
function malformedField(kind: Kind): string {
  const { fields, key } = entryNamed(kind);
  const texts = Object.entries(fields).filter(
    ([name, { type, required }]) => type === 'text' && required && !key.includes(name),
  );
  return texts.some(([name]) => name === 'name') ? 'name' : String(texts[0]?.[0]);
}

/** The time of an entity's tombstone in the feed; null if the feed has none. */
function tombstoneTime({ state, deletedAt, oldDeletedAt }: Entity): string | null {
  return state === 'tombstone' ? deletedAt : (oldDeletedAt ?? null);
}

/** The sort key of an entity in the requested list; null if the list does not contain it. */
function sortKey(thing: Entity, id: string, query: Query, oldest: string): string | null {
  if (query['deleted_since'] !== undefined) {
    const at = instant(tombstoneTime(thing) ?? '');
    return tombstoneTime(thing) !== null && at >= later(String(query['deleted_since']), oldest) ? `${at} ${id}` : null;
  }
  if (thing.state !== 'live') return null;
  if (query['synced_since'] === undefined) return id;
  const at = instant(thing.item['synced_at']);
  return at >= later(String(query['synced_since']), oldest) ? `${at} ${id}` : null;
}

const FILTERS = { db_names: 'db_name', schema_names: 'schema_name' } as const;

function typedRows(env: EnvironmentModel, kind: string, query: Query, oldest: string): ListRow[] {
  const filters = Object.entries(FILTERS).flatMap(([name, field]) => {
    const wanted = setOf(query[name]);
    return wanted === undefined ? [] : [(item: Item) => wanted.has(String(item[field]))];
  });
  return entityRows(env, env.assets, query, oldest)
    .flatMap((row) => visibleVersion(env, row))
    .filter(({ item, isReplaced }) => !isReplaced && item['kind'] === kind && filters.every((matches) => matches(item)))
    .map((row) => ({ ...row, item: ofKind(row.item, kind) }));
}

const LAG_MS = 1_800_000;

/** Whether a change is so recent that a lagging list does not have it yet. */
function isWithinLag(env: EnvironmentModel, changedAt: unknown): boolean {
  const ageMs = Date.parse(env.now()) - Date.parse(`${instant(changedAt)}Z`);
  return ageMs >= 0 && ageMs < LAG_MS;
}

/** The version of an asset in a typed list: if the list lags, the previous one or none (R22). */
function visibleVersion(env: EnvironmentModel, row: ListRow): ListRow[] {
  if (!env.typedLag || row.isReplaced || !isWithinLag(env, row.item['synced_at'])) return [row];
  const item = env.previousVersions.get(`assets ${row.item['id']}`);
  return item === undefined ? [] : [{ ...row, item }];
}

/** The item without the fields that only typed lists return. */
export function generic(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !TYPED.has(name)));
}

/** The item without the fields of other kinds. */
export function ofKind(item: Item, kind: string): Item {
  const other = kind === 'table' ? /^(bi_|url$)/ : /^(data_platform|db_name|schema_name|table_name|materialization)$/;
  return Object.fromEntries(Object.entries(item).filter(([name]) => COMMON.has(name) || !other.test(name)));
}

function assetEdges(env: EnvironmentModel): ListRow[] {
  const live = (id: string): boolean => env.assets.get(id)?.state === 'live';
  return [...env.assetEdges].flatMap(([key, [up, down]]) =>
    live(up) && live(down)
      ? [{ key, item: SAMPLES.asset_lineage(down, up), shown: !env.hidden.has(up) && !env.hidden.has(down) }]
      : [],
  );
}

/** The feeds filter by the times of the downstream column. */
function columnEdges(env: EnvironmentModel, query: Query, oldest: string): ListRow[] {
  const wanted = setOf(query['column_ids']);
  return visibleEdges(env).flatMap(([key, [up, down]]) => {
    const column = env.columns.get(down);
    if (column === undefined || wanted?.has(down) === false) return [];
    const at = sortKey(column, down, query, oldest);
    return at === null
      ? []
      : [{ key: `${at} ${key}`, item: SAMPLES.column_lineage(down, up), shown: isShown(env, column.item) }];
  });
}

/** The edges in the list: the previous ones of a column whose change the list does not have yet (R18). */
function visibleEdges(env: EnvironmentModel): [string, readonly [string, string]][] {
  if (!env.edgeLag) return [...env.columnEdges];
  const lagging = new Map([...env.previousEdges].filter(([, { until }]) => isWithinLag(env, until)));
  const current = [...env.columnEdges].filter(([, [, down]]) => !lagging.has(down));
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

/** The later of two times: the service clamps a bound silently to the oldest time it supports. */
function later(bound: string, oldest: string): string {
  const [a, b] = [instant(bound), instant(oldest)];
  return a > b ? a : b;
}
