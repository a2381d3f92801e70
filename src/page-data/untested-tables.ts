import { lineageOf, type ReachCount, rankByReach } from './asset-graph.ts';
import { elementsOf } from './labels.ts';
import { liveRowsIn } from './live-rows.ts';
import type { UntestedTable, UntestedTables } from './page-data.ts';
import { type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { cacheBySignature, feedSignature } from './signature-cache.ts';
import { selectValues } from './sql.ts';

/** The part of the list to return, and whether to include tested tables. */
export interface UntestedQuery {
  readonly limit: number;
  readonly offset: number;
  readonly all: boolean;
}

/** The tables without a test, most downstream assets first. */
export function untestedTables(
  reads: PageReads,
  scope: PageScope,
  { limit, offset, all }: UntestedQuery,
): UntestedTables {
  const tables = tablesOf(reads, scope);
  const tested = readTested(reads, scope);
  const testedTables = tables.filter((id) => tested.has(id));
  const found = all ? tables : tables.filter((id) => !tested.has(id));
  const lineage = lineageOf(reads, scope);
  const shown = rankByReach(lineage, found)
    .slice(offset, offset + limit)
    .map(({ id, reach }) => ({ id, reach: reach ?? lineage.countDownstream(id) }));
  return {
    table_count: tables.length,
    tested_table_count: testedTables.length,
    column_count: columnsOf(reads, scope),
    tested_column_count: testedTables.reduce((sum, id) => sum + (tested.get(id)?.size ?? 0), 0),
    total: found.length,
    rows: withDetails(reads, scope, shown),
  };
}

const tablesOf = cacheBySignature(8, (reads, env) => feedSignature(reads, env, ['assets']), readTables);

/** The ids of the live tables that the reader may see. */
function readTables(reads: PageReads, scope: PageScope): string[] {
  const ids = reads.texts({
    sql: `select id from assets where deleted_at is null and kind = 'table' and ${seen(scope, { env: 'env_id', asset: 'id' })}`,
    values: valuesIn(scope),
  });
  return ids.map(String);
}

/** The columns that have enabled tests, by asset id. */
function readTested(reads: PageReads, scope: PageScope): ReadonlyMap<string, ReadonlySet<string>> {
  const rows = reads.rows({
    sql: `select asset_id, lower(column_name) as name from test_status
      where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and asset_id is not null`,
    values: valuesIn(scope),
  });
  const tested = new Map<string, Set<string>>();
  for (const row of rows) {
    const asset = String(row['asset_id']);
    const names = tested.get(asset) ?? new Set();
    tested.set(asset, names);
    if (row['name'] != null) names.add(String(row['name']));
  }
  return tested;
}

const columnsOf = cacheBySignature(8, (reads, env) => feedSignature(reads, env, ['assets', 'columns']), countColumns);

/** The live columns of live tables. */
function countColumns(reads: PageReads, scope: PageScope): number {
  return scope.limit === null ? countAllColumns(reads, scope.env) : countSeenColumns(reads, scope);
}

/** All live columns less those of other assets, which are few. */
function countAllColumns(reads: PageReads, env: string): number {
  const [others] = reads.rows({
    sql: `select count(*) as columns from assets a cross join columns c on c.env_id = a.env_id and c.asset_id = a.id
      where a.env_id = @env and (a.deleted_at is not null or +a.kind <> 'table') and c.deleted_at is null`,
    values: { env },
  });
  return liveRowsIn(reads, { table: 'columns' }, env) - Number(others?.['columns']);
}

/** All columns less the deleted ones; an index counts both. */
function countSeenColumns(reads: PageReads, scope: PageScope): number {
  const [row] = reads.rows({
    sql: `select count(*) as columns from assets a cross join columns c on c.env_id = a.env_id and c.asset_id = a.id
      where a.deleted_at is null and a.kind = 'table' and ${seen(scope, { env: 'a.env_id', asset: 'a.id' })}`,
    values: valuesIn(scope),
  });
  const [deleted] = reads.rows({
    sql: `select count(*) as columns from columns c cross join assets a on a.env_id = c.env_id and a.id = +c.asset_id
      where c.deleted_at is not null and a.deleted_at is null and a.kind = 'table'
        and ${seen(scope, { env: 'c.env_id', asset: 'a.id' })}`,
    values: valuesIn(scope),
  });
  return Number(row?.['columns']) - Number(deleted?.['columns']);
}

function withDetails(
  reads: PageReads,
  scope: PageScope,
  shown: readonly { readonly id: string; readonly reach: ReachCount }[],
): UntestedTable[] {
  const ids = shown.map(({ id }) => id);
  const rows = reads.rows({
    sql: `select asset_id, asset_name, db_name, schema_name, test_count, column_count, tested_column_count
      from test_coverage where env_id = @env and asset_id in ${selectValues('ids')}`,
    values: { env: scope.env, ids: JSON.stringify(ids) },
  });
  const tables = new Map(rows.map((row) => [String(row['asset_id']), row]));
  const owners = elementsOf(reads, scope, { list: 'assetOwners', ids });
  return shown.map(({ id, reach }) => {
    const row = tables.get(id);
    return {
      asset: { id, name: textOf(row?.['asset_name']), kind: 'table' },
      db_name: textOf(row?.['db_name']),
      schema_name: textOf(row?.['schema_name']),
      owners: owners.get(id) ?? [],
      test_count: Number(row?.['test_count'] ?? 0),
      column_count: Number(row?.['column_count'] ?? 0),
      tested_column_count: Number(row?.['tested_column_count'] ?? 0),
      ...reach,
    };
  });
}
