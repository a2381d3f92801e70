import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import type { FeedName } from '../../src/streams/catalogue.ts';
import { PLAIN_FEEDS } from '../support/catalogue.ts';
import { asset, assetEdge, column, columnEdge, insert, insertSample, NOW, run, test_ } from './fixture.ts';

const GONE = { deleted_at: '2026-11-18T00:00:00.000000Z', deletion: 'tombstone' } as const;
const kept = { env_id: 'e', mirrored_at: NOW };

/** November 2nd at this time. */
export const hour = (of: number) => `2026-11-02T${String(of).padStart(2, '0')}:00:00.000000Z`;

/** Exactly 7 days before the mirror's clock, and a microsecond earlier. */
export const WEEK_AGO = '2026-11-13T12:00:00.000000Z';
const OVER_A_WEEK_AGO = '2026-11-13T11:59:59.999999Z';

const ASSETS = [
  asset('orders', {
    synced_at: hour(5),
    db_name: 'raw',
    schema_name: 'sales',
    table_name: 'ORDERS',
    materialization: 'table',
    path: 'shop/core/orders',
    tags: '["pii","daily"]',
    owners: '["Ann"]',
    description: 'All orders',
    created_at: hour(1),
    updated_at: hour(2),
    parent_id: 'raw',
  }),
  asset('lines', {
    synced_at: hour(4),
    db_name: 'raw',
    schema_name: 'other',
    materialization: 'incremental',
    source_type: 'fivetran',
    path: 'shop/core/orders/lines',
    tags: '["x"]',
  }),
  asset('ordersx', { synced_at: hour(3), db_name: 'prod', path: 'shop/core/ordersx', tags: '[]' }),
  asset('eph', { synced_at: hour(3), materialization: 'ephemeral' }),
  asset('untyped', { kind: 'table', synced_at: hour(3) }),
  asset('dash', {
    kind: 'bi',
    bi_platform: 'looker',
    bi_type: 'dashboard',
    url: 'https://bi.test/1',
    source_type: 'looker',
    path: 'bi/sales',
    tags: '["pii"]',
    synced_at: hour(2),
  }),
  asset('page', { kind: 'bi', bi_platform: 'sigma', bi_type: 'report', source_type: 'sigma', parent_id: 'dash' }),
  asset('meaning', { kind: 'semantic' }),
  asset('thing', { kind: 'hologram', source_type: 'quantum' }),
  asset('gone', { ...GONE, path: 'shop/core/orders' }),
  asset('gone dash', { ...GONE, kind: 'bi', bi_platform: 'looker', bi_type: 'look' }),
];

const COLUMNS = [
  column('orders.id', { asset_id: 'orders', data_type: 'INT', synced_at: hour(3) }),
  column('orders.at', { asset_id: 'orders', data_type: 'DATE', synced_at: hour(4) }),
  column('lines.id', { asset_id: 'lines', synced_at: hour(3) }),
  column('gone.id', { asset_id: 'gone', ...GONE }),
];

const TESTS = [
  test_('unique', {
    asset_id: 'orders',
    column_name: 'id',
    config: '{"where":"x > 1"}',
    owners: '["Ann"]',
    tags: '["nightly"]',
    synced_at: hour(3),
  }),
  test_('fresh', {
    asset_id: 'lines',
    test_type: 'freshness',
    definition_type: 'monitor',
    source_type: 'acme_cloud',
    severity: 'DIRE',
    synced_at: hour(2),
  }),
  test_('off', { asset_id: 'orders', disabled: 1, synced_at: hour(3) }),
  test_('gone', { asset_id: 'orders', ...GONE }),
];

/** Their ids sort opposite to their sub-tests. */
const LATEST = [
  { ...run('z', { test_id: 'unique', status: 'PASS', sub_test_unique_id: 'a' }), synced_at: hour(9) },
  { ...run('y', { test_id: 'fresh', status: 'WARN', sub_test_unique_id: 'b' }), synced_at: hour(8) },
  {
    ...run('x', { test_id: 'fresh', status: 'MAYBE', sub_test_unique_id: 'c' }),
    synced_at: hour(8),
    failure_count: null,
    description: '',
  },
  { ...run('w', { test_id: 'off', status: 'FAIL', sub_test_unique_id: 'd' }), synced_at: hour(7) },
  { ...run('v', { test_id: 'gone', status: 'FAIL', sub_test_unique_id: 'e' }), synced_at: hour(7) },
  { ...run('u', { test_id: 'unseen', status: 'NO_DATA', sub_test_unique_id: 'f' }), synced_at: null },
];

const at = (id: string, start_time: string, more: Parameters<typeof run>[1] = {}) =>
  run(id, { test_id: 'unique', sub_test_unique_id: 's1', start_time, ...more });

/** Executions of the test `unique`, exactly at the bounds of its windows and a microsecond outside them. */
const HISTORY = [
  { ...at('now', NOW), description: '' },
  at('b', '2026-11-01T00:00:00.000000Z', { sub_test_unique_id: 's2', status: 'FAIL' }),
  at('a', '2026-11-01T00:00:00.000000Z'),
  at('30 days', '2026-10-21T12:00:00.000000Z'),
  at('over 30 days', '2026-10-21T11:59:59.999999Z'),
  at('90 days', '2026-08-22T12:00:00.000000Z'),
  at('over 90 days', '2026-08-22T11:59:59.999999Z'),
  run('of another', { test_id: 'fresh' }),
];

const score = (asset_id: string, bucket_at: string) => ({ ...kept, asset_id, score: 0.5, test_count: 2, bucket_at });

const DIMENSIONS = [
  { ...score('orders', NOW), dimension: 'validity' },
  { ...score('orders', WEEK_AGO), dimension: 'accuracy' },
  { ...score('orders', OVER_A_WEEK_AGO), dimension: 'freshness' },
  { ...score('lines', WEEK_AGO), dimension: 'novelty' },
];

const ASSET_EDGES = [
  assetEdge('orders', 'lines'),
  assetEdge('lines', 'dash'),
  assetEdge('eph', 'orders'),
  assetEdge('eph', 'thing'),
  assetEdge('gone', 'orders'),
  assetEdge('orders', 'gone'),
  assetEdge('unseen', 'orders'),
];

const COLUMN_EDGES = [
  columnEdge('orders.id', 'lines.id'),
  columnEdge('orders.at', 'lines.id'),
  columnEdge('unseen', 'orders.id'),
  columnEdge('orders.id', 'gone.id'),
];

/** The ids of the samples of a collection that this file does not name; all belong to the asset `orders`. */
export const samplesOf = (kind: FeedName): readonly string[] => [1, 2].map((n) => `${kind} ${n}`);

/** Rows of every kind and state that the specification distinguishes. */
export function fillWorld(writing: MirrorFile): void {
  const { db } = writing;
  for (const kind of PLAIN_FEEDS)
    for (const id of samplesOf(kind)) insertSample(writing, kind, id, { asset_id: 'orders' });
  insert(db, assets, ASSETS);
  insert(db, columns, COLUMNS);
  insert(db, tests, TESTS);
  insert(db, latestTestExecutions, LATEST);
  insert(db, testExecutions, HISTORY);
  insert(db, assetLineage, ASSET_EDGES);
  insert(db, columnLineage, COLUMN_EDGES);
  insert(db, assetHealthScores, [
    score('orders', NOW),
    score('lines', WEEK_AGO),
    score('ordersx', OVER_A_WEEK_AGO),
    score('gone', NOW),
  ]);
  insert(db, assetHealthScoreDimensions, DIMENSIONS);
}

/** Identifies an item of any collection. */
export function keyOf(item: Record<string, unknown>): string {
  const { upstream_asset_id, downstream_asset_id, upstream_column_id, downstream_column_id } = item;
  if (upstream_asset_id !== undefined) return `${upstream_asset_id} > ${downstream_asset_id}`;
  if (upstream_column_id !== undefined) return `${upstream_column_id} > ${downstream_column_id}`;
  return String(item['id'] ?? item['asset_id']);
}
