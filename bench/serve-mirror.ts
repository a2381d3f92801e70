import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { assetLineage, assets, columnLineage, columns, environments } from '../schema/assets.ts';
import { latestTestExecutions, tests } from '../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../schema/health.ts';
import { mirrorEnvironments } from '../schema/sync.ts';
import { addDays, type Instant, instantOfMs } from '../src/core/time/instant.ts';
import { list, tableSqlOf } from '../src/destination/sql/tables.ts';
import { performAtOnce } from '../src/destination/sqlite/driver.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from '../src/destination/sqlite/migrations.ts';
import { type MirrorFile, openForWriting } from '../src/destination/sqlite/open.ts';
import { beginRun, claimMirror } from '../state/run-log.ts';

type Made = Readonly<Record<string, string | number | null>>;

const ENV = 'bench';
const PAGE_ROWS = 2000;
const ASSETS = 50_000;
const DIMENSIONS = ['completeness', 'freshness'];

export const COLUMNS = 1_000_000;

export const assetId = (n: number): string => `model.warehouse.schema_${n % 97}.table_${n}`;

/** Ordered by `n`: a scan is read in id order. */
export const columnId = (n: number): string =>
  `column.warehouse.table_${String(n >> 4).padStart(6, '0')}.column_${String(n & 15).padStart(2, '0')}`;

const asset = (n: number): Made => ({
  id: assetId(n),
  name: `table_${n}`,
  kind: n % 10 === 0 ? 'bi' : 'table',
  source_type: 'dbt',
  ...(n % 10 === 0
    ? { bi_platform: 'looker', bi_type: 'dashboard', url: `https://bi.example.test/d/${n}` }
    : {
        data_platform: 'snowflake',
        db_name: 'analytics',
        schema_name: `schema_${n % 97}`,
        table_name: `TABLE_${n}`,
        materialization: n % 3 === 0 ? 'view' : 'table',
      }),
  description: 'One row for each order, as the shop system reports it',
  owners: '["data-platform"]',
  tags: '["finance","daily"]',
  path: `models/marts/area_${n % 13}`,
});

const column = (n: number): Made => ({
  id: columnId(n),
  asset_id: assetId((n >> 4) % ASSETS),
  name: `column_${n}`,
  data_type: n % 100_000 === 0 ? 'GEOGRAPHY' : 'VARCHAR',
});

const test = (n: number): Made => ({
  id: `test.not_null.${n}`,
  name: 'not_null',
  test_type: 'dbt_test',
  definition_type: 'not_null',
  source_type: 'dbt',
  severity: 'ERROR',
  disabled: n % 50 === 0 ? 1 : 0,
  asset_id: assetId(n),
  column_name: 'id',
  config: '{"sensitivity":"low"}',
  owners: '[]',
  tags: '[]',
});

const execution = (n: number): Made => ({
  id: `execution-${n}`,
  test_id: `test.not_null.${n}`,
  sub_test_unique_id: `test.not_null.${n}.sub`,
  sub_type: 'generic',
  status: n % 20 === 0 ? 'FAIL' : 'PASS',
  failure_count: 0,
  duration_seconds: 1.25,
});

const bucket = { score: 0.9, test_count: 3 };

const TABLES: readonly [SQLiteTable, rows: number, row: (n: number) => Made][] = [
  [assets, ASSETS, asset],
  [columns, COLUMNS, column],
  [tests, ASSETS, test],
  [latestTestExecutions, ASSETS, execution],
  [
    assetLineage,
    60_000,
    (n) => ({ upstream_asset_id: assetId(n % 25_000), downstream_asset_id: assetId((n * 7 + 25_000) % ASSETS) }),
  ],
  [columnLineage, 150_000, (n) => ({ upstream_column_id: columnId(n), downstream_column_id: columnId(n + 1) })],
  [assetHealthScores, ASSETS, (n) => ({ asset_id: assetId(n), ...bucket })],
  [
    assetHealthScoreDimensions,
    ASSETS * DIMENSIONS.length,
    (n) => ({ asset_id: assetId(n >> 1), dimension: DIMENSIONS[n & 1] ?? '', ...bucket }),
  ],
];

/** Creates a mirror of a million columns and half a million other rows, synced until `nowMs`. */
export function makeMirror(path: string, nowMs: number): void {
  const mirror = openForWriting(path);
  performAtOnce(mirror, claimMirror('https://service.test', path));
  const { connection, db } = mirror;
  const end = instantOfMs(nowMs);
  db.insert(environments).values({ id: ENV, name: 'Bench', mirrored_at: end }).run();
  const tables = TABLES.map(([table]) => table);
  dropSecondaryIndexes(connection, tables);
  for (const [table, rows, row] of TABLES) fill(mirror, { table, rows, row, end });
  buildSecondaryIndexes(connection, tables);
  performAtOnce(mirror, beginRun(end));
  connection.prepare("update sync_runs set status = 'done', ended_at = started_at").run();
  db.insert(mirrorEnvironments).values({ env_id: ENV, mirrored_at: end }).run();
  connection.pragma('wal_checkpoint(truncate)');
  connection.close();
}

/** Page by page, one second apart: the rows of a page share their `mirrored_at`. */
function fill(
  { connection }: MirrorFile,
  { table, rows, row, end }: { table: SQLiteTable; rows: number; row: (n: number) => Made; end: Instant },
): void {
  const { name, columns } = tableSqlOf(table);
  const insert = connection.prepare(
    `insert or ignore into "${name}" (${list(columns)}) values (${columns.map((column) => `@${column}`).join(', ')})`,
  );
  const blank = Object.fromEntries(columns.map((column) => [column, null]));
  const beginMs = Date.parse(addDays(end, -1));
  connection.transaction(() => {
    for (let n = 0; n < rows; n += 1) {
      const at = instantOfMs(beginMs + Math.floor(n / PAGE_ROWS) * 1000);
      const times = { mirrored_at: at, synced_at: at, start_time: at, bucket_at: at };
      insert.run({ ...blank, env_id: ENV, ...times, ...row(n) });
    }
  })();
}
