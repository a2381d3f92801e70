import { lineageOf, rankByReach } from './asset-graph.ts';
import type { PageRange } from './failing-now.ts';
import { elementsOf } from './labels.ts';
import type { ReachCount, UntestedTable, UntestedTables } from './page-data.ts';
import { type PageScope, seen, selectCount, selectOne, selectRows, selectTexts } from './page-scope.ts';
import { cacheBySignature, feedSignature } from './signature-cache.ts';
import { selectValues } from './sql.ts';

/** The tables without a test, most downstream assets first. */
export function untestedTables(scope: PageScope, { limit, offset, all }: PageRange & { all: boolean }): UntestedTables {
  const tables = tablesOf(scope);
  const tested = readTested(scope);
  const testedTables = tables.filter((id) => tested.has(id));
  const found = all ? tables : tables.filter((id) => !tested.has(id));
  const lineage = lineageOf(scope);
  const shown = rankByReach(lineage, found)
    .slice(offset, offset + limit)
    .map(({ id, reach }) => ({ id, reach: reach ?? lineage.countDownstream(id) }));
  return {
    table_count: tables.length,
    tested_table_count: testedTables.length,
    column_count: columnsOf(scope),
    tested_column_count: countTestedColumns(scope, namesIn(testedTables, tested)),
    total: found.length,
    rows: withDetails(scope, shown),
  };
}

/** The ids of the live tables that the reader may see. */
const tablesOf = cacheBySignature(8, feedSignature('assets'), (scope): string[] => {
  const sql = `select id from assets where deleted_at is null and kind = 'table' and ${seen(scope, 'id')}`;
  return selectTexts(scope, sql).map(String);
});

/** The names that enabled tests have for columns, by asset id; the asset may have no such column. */
function readTested(scope: PageScope): ReadonlyMap<string, ReadonlySet<string>> {
  const sql = `select asset_id, lower(column_name) as name from test_status
    where ${seen(scope, 'asset_id')} and asset_id is not null`;
  const tested = new Map<string, Set<string>>();
  for (const { asset_id, name } of selectRows<{ asset_id: string; name: string | null }>(scope, sql)) {
    const names = tested.get(asset_id) ?? new Set();
    tested.set(asset_id, names);
    if (name !== null) names.add(name);
  }
  return tested;
}

/** JSON of the ids of the tables and their names, in an order that doesn't depend on which test ran last. */
function namesIn(tables: readonly string[], tested: ReadonlyMap<string, ReadonlySet<string>>): string {
  return JSON.stringify(tables.flatMap((id) => [...(tested.get(id) ?? [])].sort().map((name) => [id, name])));
}

/** The live columns with these names. Most commits change neither. */
const countTestedColumns = cacheBySignature(8, feedSignature('columns'), (scope, names: string): number => {
  const sql = `with named (asset_id, name) as materialized (select value ->> 0, value ->> 1 from json_each(@names))
    select count(*) as count from (select distinct asset_id from named) a
    cross join columns c on c.env_id = @env and c.asset_id = a.asset_id
    where c.deleted_at is null and (c.asset_id, lower(c.name)) in (select asset_id, name from named)`;
  return selectOne<{ count: number }>(scope, sql, { names }).count;
});

/** The live columns of live tables: all columns less the deleted ones, because an index counts both. */
const columnsOf = cacheBySignature(8, feedSignature('assets', 'columns'), (scope): number => {
  const all = `from assets a cross join columns c on c.env_id = a.env_id and c.asset_id = a.id
    where a.deleted_at is null and a.kind = 'table' and ${seen(scope, 'a.id', 'a.env_id')}`;
  const deleted = `from columns c cross join assets a on a.env_id = c.env_id and a.id = +c.asset_id
    where c.deleted_at is not null and a.deleted_at is null and a.kind = 'table' and ${seen(scope, 'a.id', 'c.env_id')}`;
  return selectCount(scope, all) - selectCount(scope, deleted);
});

type TableDetail = Omit<UntestedTable, 'asset' | 'owners' | keyof ReachCount> & Omit<UntestedTable['asset'], 'kind'>;

function withDetails(scope: PageScope, shown: readonly { readonly id: string; readonly reach: ReachCount }[]) {
  const ids = shown.map(({ id }) => id);
  const sql = `select asset_id as id, asset_name as name, db_name, schema_name, test_count, column_count,
      tested_column_count
    from test_coverage where env_id = @env and asset_id in ${selectValues('ids')}`;
  const tables = new Map(selectRows<TableDetail>(scope, sql, { ids }).map((row) => [row.id, row]));
  const owners = elementsOf(scope, 'assetOwners', ids);
  return shown.flatMap(({ id: asset, reach }) => {
    const table = tables.get(asset);
    if (table === undefined) return [];
    const { id, name, db_name, schema_name, ...counts } = table;
    const label = { id, name, kind: 'table' };
    return { asset: label, db_name, schema_name, owners: owners.get(id) ?? [], ...counts, ...reach };
  });
}
