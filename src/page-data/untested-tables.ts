import { lineageOf, rankByReach } from './asset-graph.ts';
import type { PageRange } from './failing-now.ts';
import { elementsOf } from './labels.ts';
import { liveRowsIn } from './live-rows.ts';
import type { ReachCount, UntestedTable, UntestedTables } from './page-data.ts';
import { type PageScope, seen, selectCount, selectRows, selectTexts } from './page-scope.ts';
import { cacheBySignature, feedSignature } from './signature-cache.ts';
import { selectValues } from './sql.ts';

/** The part of the list to return, and whether to include tested tables. */
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
    tested_column_count: testedTables.reduce((sum, id) => sum + (tested.get(id)?.size ?? 0), 0),
    total: found.length,
    rows: withDetails(scope, shown),
  };
}

/** The ids of the live tables that the reader may see. */
const tablesOf = cacheBySignature(8, feedSignature('assets'), (scope): string[] => {
  const sql = `select id from assets where deleted_at is null and kind = 'table' and ${seen(scope, 'id')}`;
  return selectTexts(scope, sql).map(String);
});

/** The columns that have enabled tests, by asset id. */
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

/** The live columns of live tables. */
const columnsOf = cacheBySignature(8, feedSignature('assets', 'columns'), (scope) =>
  scope.limit === null ? countAllColumns(scope) : countSeenColumns(scope),
);

/** All live columns less those of other assets, which are few. */
function countAllColumns(scope: PageScope): number {
  const others = `from assets a cross join columns c on c.env_id = a.env_id and c.asset_id = a.id
    where a.env_id = @env and (a.deleted_at is not null or +a.kind <> 'table') and c.deleted_at is null`;
  return liveRowsIn(scope, { table: 'columns' }) - selectCount(scope, others);
}

/** All columns less the deleted ones; an index counts both. */
function countSeenColumns(scope: PageScope): number {
  const all = `from assets a cross join columns c on c.env_id = a.env_id and c.asset_id = a.id
    where a.deleted_at is null and a.kind = 'table' and ${seen(scope, 'a.id', 'a.env_id')}`;
  const deleted = `from columns c cross join assets a on a.env_id = c.env_id and a.id = +c.asset_id
    where c.deleted_at is not null and a.deleted_at is null and a.kind = 'table' and ${seen(scope, 'a.id', 'c.env_id')}`;
  return selectCount(scope, all) - selectCount(scope, deleted);
}

type TableDetail = Omit<UntestedTable, 'asset' | 'owners' | keyof ReachCount> & Omit<UntestedTable['asset'], 'kind'>;

function withDetails(
  scope: PageScope,
  shown: readonly { readonly id: string; readonly reach: ReachCount }[],
): UntestedTable[] {
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
