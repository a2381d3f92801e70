import { isExactNumber, parseExactly } from '../../src/core/json.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { entryNamed, FEED_TABLES, PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  createEnvironment,
  currentScore,
  type Entity,
  type EnvironmentModel,
  FAR_FUTURE,
  type Item,
} from './environment.ts';
import { generic, isLiveTable, isShown, ofKind } from './lists.ts';
import type { Row, TestMirror } from './test-mirror.ts';

const COMMON = 'id name kind source_type description owners tags parent_id path created_at updated_at synced_at'.split(
  ' ',
);
const TABLE = 'data_platform db_name schema_name table_name materialization'.split(' ');
const BI = 'bi_platform bi_type url'.split(' ');
const COLUMN = 'id asset_id name data_type synced_at'.split(' ');
const TEST = (
  'id name test_type definition_type source_type severity disabled asset_id column_name config owners tags ' +
  'description path project updated_at synced_at'
).split(' ');
const EXECUTION = (
  'id test_id sub_test_unique_id sub_type status failure_count start_time duration_seconds column_name ' +
  'quality_dimension result_reason exception description synced_at'
).split(' ');

/** The live rows that the mirror must have of an environment, as far as the token may see them. */
export function expectedRows(env: EnvironmentModel): Record<string, Row[]> {
  const shown = (things: ReadonlyMap<string, Entity>): Item[] =>
    [...things.values()].filter(({ state, item }) => state === 'live' && isShown(env, item)).map(({ item }) => item);
  const assets = [...env.assets.values()]
    .filter(({ state, item }) => state === 'live' && !env.hidden.has(String(item['id'])))
    .map(({ item }) => item);
  const ids = (items: readonly Item[]): Set<unknown> => new Set(items.map((item) => item['id']));
  const [assetIds, columns, tests] = [ids(assets), shown(env.columns), shown(env.tests)];
  const [columnIds, testIds] = [ids(columns), ids(tests)];
  const scores = [...env.scores.values()]
    .filter(({ asset_id: id }) => assetIds.has(id) && isLiveTable(env, String(id)))
    .map((score) => currentScore(env, score))
    .filter((score) => score !== null);
  return {
    ...Object.fromEntries(
      PLAIN_FEEDS.map((kind) => [entryNamed(kind).table, shown(env[kind]).map((item) => expectedRow(kind, item))]),
    ),
    assets: assets.map(assetRow),
    columns: columns.map((item) => stored(item, COLUMN)),
    tests: tests.map((item) => stored(item, TEST)),
    asset_lineage: [...env.assetEdges.values()]
      .filter(([up, down]) => assetIds.has(up) && assetIds.has(down))
      .map(([up, down]) => ({ upstream_asset_id: up, downstream_asset_id: down, extra: null })),
    column_lineage: [...env.columnEdges.values()]
      .filter(([, down]) => columnIds.has(down))
      .map(([up, down]) => ({ upstream_column_id: up, downstream_column_id: down, extra: null })),
    latest_test_executions: [...env.latest.values()]
      .filter((item) => testIds.has(item['test_id']))
      .map((item) => stored(item, EXECUTION)),
    asset_health_scores: scores.map((item) => ({
      asset_id: String(item['asset_id']),
      ...bucket(item['total'] as Item),
      extra: null,
    })),
    asset_health_score_dimensions: scores.flatMap((item) =>
      (item['dimensions'] as Item[]).map((part) => ({
        asset_id: String(item['asset_id']),
        dimension: String(part['dimension']),
        ...bucket(part),
        extra: null,
      })),
    ),
  };
}

const DAY_MS = 86_400_000;
const LATE_DAYS = 7;

/**
 * Executions that a run with `--history` should have mirrored and did not: those the service returns that were reported
 * before the test's latest last changed (R22), except those reported too late (R17). None while histories answer 404
 * (R15).
 */
export function missingExecutions(mirrored: TestMirror, env: EnvironmentModel): Item[] {
  if (env.notLive.has('executions')) return [];
  const opens = new Date(Date.parse(env.now()) - 89 * DAY_MS).toISOString();
  const held = new Set(
    mirrored.rows('select sub_test_unique_id, id from test_executions where env_id = ?', env.id).map(executionKey),
  );
  const newsAt = new Map<unknown, string>();
  for (const [item, { at, isLatest }] of env.reports) if (isLatest) newsAt.set(item['test_id'], at);
  return [...env.reports].flatMap(([item, { at }]) => {
    const testId = String(item['test_id']);
    const test = env.tests.get(testId);
    const start = String(item['start_time']);
    const isInTime = Date.parse(at) - Date.parse(start) < LATE_DAYS * DAY_MS && start > opens;
    const isReadable = test !== undefined && isShown(env, test.item) && !env.brokenHistories.has(testId);
    const isDue = test?.state === 'live' && isReadable && at <= (newsAt.get(item['test_id']) ?? '');
    return isDue && isInTime && !held.has(executionKey(item)) ? [item] : [];
  });
}

/** Tests whose history was never read although the service returns it. */
export function unreadHistories(mirrored: TestMirror, env: EnvironmentModel): unknown[] {
  if (['executions', 'tests scope', 'environment'].some((name) => env.denied.has(name))) return [];
  const sql = `select id from tests where env_id = ? and deleted_at is null
    and id not in (select test_id from test_readings where env_id = tests.env_id)`;
  const unread = mirrored.rows(sql, env.id).map(({ id }) => String(id));
  return unread.filter((id) => {
    const test = env.tests.get(id);
    return test?.state === 'live' && isShown(env, test.item) && !env.brokenHistories.has(id);
  });
}

function executionKey(item: Item): string {
  return `${item['sub_test_unique_id']} ${item['id']}`;
}

/** The same tables in the mirror, without the mirror's own columns. */
function mirroredRows(mirrored: TestMirror, envId: string): Record<string, Row[]> {
  const tables = Object.keys(expectedRows(emptyEnvironment));
  return Object.fromEntries(
    tables.map((table) => {
      const live = FEED_TABLES.includes(table) ? 'and deleted_at is null' : '';
      const rows = mirrored.rows(`select * from ${table} where env_id = ? ${live}`, envId);
      return [table, rows.map(({ env_id: _, mirrored_at: __, deleted_at: ___, deletion: ____, ...row }) => row)];
    }),
  );
}

/** Both sides of an environment, sorted, for a single assertion. */
export function comparableRows(mirrored: TestMirror, env: EnvironmentModel): { mirror: unknown; world: unknown } {
  return { mirror: sorted(mirroredRows(mirrored, env.id)), world: sorted(expectedRows(env)) };
}

const emptyEnvironment = createEnvironment('', () => '');

function sorted(tables: Record<string, Row[]>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [
      table,
      rows
        .map((row) =>
          JSON.stringify(
            sortMembers(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, canonicalJson(value)]))),
          ),
        )
        .sort(),
    ]),
  );
}

/** JSON with its members sorted: their order does not matter (R21). */
export function canonicalJson(value: unknown): unknown {
  const isJson = typeof value === 'string' && /^[[{]/.test(value);
  return isJson ? JSON.stringify(sortMembers(parseExactly(value))) : value;
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [name, sortMembers(member)]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The columns that a stream writes, unless they are simply its fields. */
const STORED_ROW: Readonly<Partial<Record<CollectionName, (item: Item) => Row>>> = {
  assets: (item) => {
    const { extra, ...common } = stored(item, COMMON);
    return ['table', 'bi'].includes(String(item['kind'])) ? common : { ...common, extra: extra as string | null };
  },
  table_assets: (item) => only([...TABLE, 'extra'], stored(item, [...COMMON, ...TABLE])),
  bi_assets: (item) => only([...BI, 'extra'], stored(item, [...COMMON, ...BI])),
  columns: (item) => stored(item, COLUMN),
  tests: (item) => stored(item, TEST),
  asset_lineage: (item) => stored(item, ['upstream_asset_id', 'downstream_asset_id']),
  column_lineage: (item) => stored(item, ['upstream_column_id', 'downstream_column_id']),
  latest_test_executions: (item) => stored(item, EXECUTION),
  asset_health_scores: (item) => ({ asset_id: String(item['asset_id']), ...bucket(item['total'] as Item) }),
  test_executions: (item) => stored(item, EXECUTION),
};

/** The row that the mirror stores for an item. */
export function expectedRow(stream: CollectionName, item: Item): Row {
  return STORED_ROW[stream]?.(item) ?? stored(item, Object.keys(entryNamed(stream).fields));
}

function only(names: readonly string[], row: Row): Row {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}

function assetRow(item: Item): Row {
  const kind = String(item['kind']);
  const isTyped = kind === 'table' || kind === 'bi';
  const sent = isTyped ? ofKind(item, kind) : generic(item);
  const own = kind === 'table' ? TABLE : kind === 'bi' ? BI : [];
  const row = stored(sent, [...COMMON, ...own]);
  return { ...Object.fromEntries([...TABLE, ...BI].map((name) => [name, null])), ...row };
}

function stored(item: Item, fields: readonly string[]): Row {
  const row: Row = Object.fromEntries(fields.map((name) => [name, storedValue(name, item[name])]));
  const rest = Object.entries(item).filter(([name]) => !fields.includes(name));
  const misfits = fields.filter((name) => isKeptAsSent(name, item[name])).map((name) => [name, item[name]]);
  const extra = [...rest, ...misfits];
  return { ...row, extra: extra.length === 0 ? null : JSON.stringify(Object.fromEntries(extra)) };
}

/** Values that go to `extra` as sent: numbers that no column can store, and untrusted times (R10, R19). */
function isKeptAsSent(name: string, value: unknown): boolean {
  return isExactNumber(value) || (name === 'synced_at' && String(value) === FAR_FUTURE);
}

function storedValue(name: string, value: unknown): string | number | null {
  if (value === undefined || value === null) return ['owners', 'tags'].includes(name) ? '[]' : null;
  if (isKeptAsSent(name, value)) return null;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'object') return JSON.stringify(value);
  return /_at$|^start_time$/.test(name) ? instantText(String(value)) : (value as string | number);
}

export function bucket(part: Item): Row {
  return {
    score: part['score'] as number,
    test_count: part['test_count'] as number,
    bucket_at: instantText(String(part['bucket_at'])),
  };
}

export function instantText(sent: string): string {
  const [whole = '', fraction = ''] = sent.replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}Z`;
}
