import { createServer } from 'node:http';

/**
 * Serves a made-up first sync as fast as it can: every list is cut into pages beforehand and held as text. One argument
 * scales the number of rows (1 is 727 thousand). Prints its port, and serves until its standard input ends.
 */
const scale = Number(process.argv[2] ?? 1);
const PAGE_ROWS = 2000;
const at = (n: number): string => new Date(Date.UTC(2026, 9, 1) + n * 1000).toISOString().replace('Z', '123Z');
const asset = (n: number): Record<string, unknown> => ({
  id: `model.warehouse.schema_${n % 97}.table_${n}`,
  name: `table_${n}`,
  kind: n % 10 === 0 ? 'bi' : 'table',
  source_type: 'dbt',
  description: 'One row for each order, as the shop system reports it',
  owners: ['data-platform'],
  tags: ['finance', 'daily'],
  parent_id: null,
  path: `models/marts/area_${n % 13}`,
  created_at: at(n),
  updated_at: at(n),
  synced_at: at(n),
});
const columnId = (n: number): string => `column.warehouse.schema_${n % 97}.table_${n >> 3}.column_${n}`;
const execution = (n: number): Record<string, unknown> => ({
  id: `execution-${n}`,
  test_id: `test.not_null.${n}`,
  sub_test_unique_id: `test.not_null.${n}.sub`,
  sub_type: 'generic',
  status: 'PASS',
  failure_count: 0,
  start_time: at(n),
  duration_seconds: 1.25,
  synced_at: at(n),
});

const LISTS: Record<string, [rows: number, row: (n: number) => unknown]> = {
  assets: [50_000, asset],
  'assets/tables': [
    45_000,
    (n) => ({
      ...asset(n + Math.floor(n / 9) + 1),
      data_platform: 'snowflake',
      db_name: 'analytics',
      schema_name: `schema_${n % 97}`,
      table_name: `TABLE_${n}`,
      materialization: 'table',
    }),
  ],
  'assets/bi': [
    5_000,
    (n) => ({ ...asset(n * 10), bi_platform: 'looker', bi_type: 'dashboard', url: `https://bi.example.test/d/${n}` }),
  ],
  columns: [
    400_000,
    (n) => ({
      id: columnId(n),
      asset_id: asset(n >> 3)['id'],
      name: `column_${n}`,
      data_type: 'VARCHAR',
      synced_at: at(n),
    }),
  ],
  tests: [
    30_000,
    (n) => ({
      id: `test.not_null.${n}`,
      name: 'not_null',
      test_type: 'dbt_test',
      definition_type: 'not_null',
      source_type: 'dbt',
      severity: 'ERROR',
      disabled: false,
      asset_id: asset(n)['id'],
      column_name: 'id',
      config: { sensitivity: 'low' },
      owners: [],
      tags: [],
      synced_at: at(n),
    }),
  ],
  'asset-lineage': [
    60_000,
    (n) => ({
      upstream_asset_id: asset(n % 25_000)['id'],
      downstream_asset_id: asset(25_000 + (n % 24_000))['id'] + (n >= 24_000 ? `_${n}` : ''),
    }),
  ],
  'column-lineage': [97_000, (n) => ({ upstream_column_id: columnId(n), downstream_column_id: columnId(n + 1) })],
  'latest-test-executions': [30_000, execution],
  'asset-health-scores': [
    10_000,
    (n) => ({
      asset_id: asset(n)['id'],
      dimensions: [{ dimension: 'freshness', score: 0.9, test_count: 3, bucket_at: at(0) }],
      total: { score: 0.9, test_count: 3, bucket_at: at(0) },
    }),
  ],
};

const pages = new Map<string, string[]>();
for (const [path, [count, row]] of Object.entries(LISTS)) {
  const rows = Math.ceil(count * scale);
  const list: string[] = [];
  for (let start = 0; start < rows; start += PAGE_ROWS) {
    const items = Array.from({ length: Math.min(PAGE_ROWS, rows - start) }, (_, i) => row(start + i));
    const more = start + PAGE_ROWS < rows;
    list.push(JSON.stringify({ items, has_more: more, next_cursor: more ? String(list.length + 1) : null }));
  }
  pages.set(path, list);
}

const EMPTY = '{"items":[],"has_more":false}';
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const path = url.pathname.split('/').slice(4).join('/');
  response.setHeader('content-type', 'application/json');
  if (url.pathname.endsWith('/environments')) return response.end('[{"id":"bench","name":"bench"}]');
  if (url.searchParams.get('disabled') === 'true') return response.end(EMPTY);
  return response.end(pages.get(path)?.[Number(url.searchParams.get('cursor') ?? 0)] ?? EMPTY);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as { port: number }).port));
process.stdin.on('end', () => server.close()).resume();
