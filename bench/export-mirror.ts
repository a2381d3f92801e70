import type { Database } from 'better-sqlite3';
import { fillAsSynced } from './views-mirror.ts';

/** Half a million rows for an export to write. */
export const ROWS = {
  assets: 30_000,
  columns: 150_000,
  tests: 20_000,
  asset_lineage: 75_000,
  latest_test_executions: 20_000,
  asset_health_scores: 15_000,
  test_executions: 200_000,
};

export const ROW_COUNT = Object.values(ROWS).reduce((sum, rows) => sum + rows, 0);

const NOW = '2026-11-20T00:00:00.000000Z';

/** An id as long as those of the service; a hash replaces the random part. */
const id = (kind: string, n: string): string =>
  `printf('${kind}-%08x-4a5b-8c7d-%012x', ${n}, (${n}) * 2654435761 % 281474976710656)`;

/** Spread evenly over ninety days. */
const TIME = `strftime('%Y-%m-%dT%H:%M:%S.', '2026-08-22', '+' || (n * 7776000 / ${ROWS.test_executions}) || ' seconds') || printf('%06dZ', n % 1000000)`;

const EXECUTION = `${id('sub', 'n % 20000')} as sub_test_unique_id, ${id('run', 'n')} as id, ${id('test', 'n % 20000')} as test_id,
  'rows' as sub_type, iif(n % 20 = 0, 'FAIL', 'PASS') as status, n % 7 as failure_count, ${TIME} as start_time,
  (n % 1000) / 8.0 as duration_seconds, iif(n % 20 = 0, 'Got ' || (n % 7) || ' results, configured to fail if != 0', null) as result_reason`;

const SELECTIONS: Readonly<Record<keyof typeof ROWS, string>> = {
  assets: `${id('asset', 'n')} as id, 'asset ' || n as name, 'table' as kind, 'db' as db_name, 'schema ' || (n % 97) as schema_name,
    'A table of the warehouse that has ' || (n * 7919 % 1000) || ' things in it' as description, '["owner ' || (n % 50) || '"]' as owners, '["tag"]' as tags`,
  columns: `${id('column', 'n')} as id, ${id('asset', 'n / 5')} as asset_id, 'column_' || (n % 5) as name, 'VARCHAR' as data_type`,
  tests: `${id('test', 'n')} as id, 'test ' || n as name, ${id('asset', 'n')} as asset_id, n % 2 as disabled, '["tag"]' as tags`,
  // Ten layers; each asset has edges to neighbours in the next layer.
  asset_lineage: `${id('asset', 'n % 27000')} as upstream_asset_id, ${id('asset', 'n % 27000 + 3000 + n / 27000')} as downstream_asset_id`,
  latest_test_executions: EXECUTION,
  asset_health_scores: `${id('asset', 'n')} as asset_id, (n % 100) / 100.0 as score, n % 9 as test_count, '${NOW}' as bucket_at`,
  test_executions: EXECUTION,
};

/** Fills a mirror without a sync. */
export function fillMirror(connection: Database): void {
  fillAsSynced(connection, NOW, () => {
    connection.exec(`insert into mirror (id, base_url) values (1, 'https://observability.example.com');
      insert into sync_runs (id, cycle_id, status, nonce, started_at, ended_at) values (1, 1, 'done', 'nonce', '${NOW}', '${NOW}')`);
    for (const [table, rows] of Object.entries(ROWS))
      insertRows(connection, table as keyof typeof ROWS, { from: 0, to: rows, at: NOW });
  });
}

function insertRows(
  connection: Database,
  table: keyof typeof ROWS,
  { from, to, at }: { readonly from: number; readonly to: number; readonly at: string },
): void {
  const source = `(with recursive t(n) as (select ${from} union all select n + 1 from t where n + 1 < ${to}) select n from t)`;
  const query = `select 'env-1' as env_id, '${at}' as mirrored_at, ${SELECTIONS[table]} from ${source}`;
  const names = connection
    .prepare(query)
    .columns()
    .map(({ name }) => name);
  connection.exec(`insert into ${table} (${names}) ${query}`);
}

/** Adds descriptions of a megabyte, in a script that takes two bytes of memory per character. */
export function widenAssets(connection: Database, rows: number): void {
  connection.exec(`update assets set description = replace(hex(randomblob(524288)), 'A', 'Ж'), mirrored_at = '${NOW}'
    where id in (select id from assets order by id limit ${rows})`);
}

/** The commit that changes columns, later than all before. */
const LATER = '2026-11-22T00:00:00.000000Z';

/** One in a hundred columns changes: those with neighbouring ids, or each hundredth. */
export function changeColumns(connection: Database, where: 'neighbouring' | 'spread'): void {
  const nth = where === 'spread' ? 100 : 1;
  const skip = where === 'spread' ? 0 : 70_000;
  connection.exec(`update columns set name = name || 'x', mirrored_at = '${LATER}' where id in (select id from
    (select id, row_number() over (order by id) as n from columns) where n > ${skip} and n % ${nth} = 0 limit ${ROWS.columns / 100})`);
}

/** One in a hundred executions is new. */
export function addExecutions(connection: Database): void {
  const from = ROWS.test_executions;
  insertRows(connection, 'test_executions', { from, to: from * 1.01, at: '2026-11-21T00:00:00.000000Z' });
}
