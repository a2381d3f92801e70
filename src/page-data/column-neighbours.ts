import { FAILING } from '../../schema/data-tests.ts';
import type { LineageDirection } from './asset-graph.ts';
import type { LineageNode, Neighbours } from './page-data.ts';
import { type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { type SqlRow, selectValues } from './sql.ts';
import { verdictOf } from './status-order.ts';

/** The columns at the near and far end of an edge, by direction. */
const ENDS = {
  upstream: { from: 'downstream_column_id', to: 'upstream_column_id' },
  downstream: { from: 'upstream_column_id', to: 'downstream_column_id' },
} as const;

/** A restricted reader sees an edge only if both columns' assets are visible, even when asking for the other end. */
function edgesOf(scope: PageScope, direction: LineageDirection, id: string): string {
  const { from, to } = ENDS[direction];
  return `from column_lineage e left join columns o on o.env_id = e.env_id and o.id = e.${to}
    where ${seen(scope, { env: 'e.env_id', asset: 'o.asset_id' })} and e.${from} = ${id} and e.${to} <> ${id}
      and o.deleted_at is null`;
}

/** The column itself; null if there is no live one that the reader may see. */
export function columnNode(reads: PageReads, scope: PageScope, id: string): LineageNode | null {
  const [live] = reads.rows({
    sql: `select 1 from live_columns where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and id = @id`,
    values: valuesIn(scope, { id }),
  });
  return live === undefined ? null : (nodesOf(reads, scope, [id])[0] ?? null);
}

export function columnNeighbours(
  reads: PageReads,
  scope: PageScope,
  query: { readonly id: string; readonly direction: LineageDirection; readonly limit: number; readonly offset: number },
): Neighbours | null {
  if (columnNode(reads, scope, query.id) === null) return null;
  const { to } = ENDS[query.direction];
  const adjacent = reads.texts({
    sql: `select e.${to} ${edgesOf(scope, query.direction, '@id')}`,
    values: valuesIn(scope, { id: query.id }),
  });
  const furtherCount = query.direction === 'upstream' ? 'upstream_count' : 'downstream_count';
  const isFailing = ({ failing_count }: LineageNode): number => Number(failing_count > 0);
  const nodes = nodesOf(reads, scope, adjacent.map(String)).sort(
    (a, b) => isFailing(b) - isFailing(a) || b[furtherCount] - a[furtherCount] || (a.id < b.id ? -1 : 1),
  );
  return { total: nodes.length, rows: nodes.slice(query.offset, query.offset + query.limit) };
}

function nodesOf(reads: PageReads, scope: PageScope, ids: readonly string[]): LineageNode[] {
  const rows = reads.rows({
    sql: `select i.value as id, c.name, c.asset_id, lower(c.name) as lower_name,
        (select count(*) ${edgesOf(scope, 'upstream', 'i.value')}) as upstream_count,
        (select count(*) ${edgesOf(scope, 'downstream', 'i.value')}) as downstream_count
      from json_each(@ids) i left join columns c on c.env_id = @env and c.id = i.value and c.deleted_at is null`,
    values: valuesIn(scope, { ids: JSON.stringify(ids) }),
  });
  const verdict = verdictsOf(reads, scope, rows);
  return rows.map((row) => ({
    id: String(row['id']),
    name: textOf(row['name']),
    kind: row['name'] === null ? null : 'column',
    upstream_count: Number(row['upstream_count']),
    downstream_count: Number(row['downstream_count']),
    ...verdict(row),
    asset_id: textOf(row['asset_id']),
  }));
}

/** The results of the enabled tests of each column. */
function verdictsOf(
  reads: PageReads,
  { env, seesTests }: PageScope,
  columns: readonly SqlRow[],
): (column: SqlRow) => Pick<LineageNode, 'status' | 'failing_count'> {
  const assets = [...new Set(columns.map((row) => row['asset_id']))];
  const rows = seesTests
    ? reads.rows({
        sql: `select asset_id, lower(column_name) as lower_name, status, count(*) as sub_tests, status in ${FAILING} as fails
          from test_status where env_id = @env and asset_id in ${selectValues('assets')} and status is not null
          group by asset_id, lower_name, status`,
        values: { env, assets: JSON.stringify(assets) },
      })
    : [];
  const key = (row: SqlRow): string => JSON.stringify([row['asset_id'], row['lower_name']]);
  const byColumn = Map.groupBy(rows, key);
  return (column) => verdictOf(byColumn.get(key(column)) ?? []);
}
