import { FAILING } from '../../schema/data-tests.ts';
import { type LineageDirection, lineageOf } from './asset-graph.ts';
import { columnNeighbours, columnNode } from './column-neighbours.ts';
import { labelsOf } from './labels.ts';
import type { LineageCentre, LineageNode, Neighbours } from './page-data.ts';
import { type PageReads, type PageScope, seen, valuesIn } from './page-scope.ts';
import { type SqlRow, selectValues } from './sql.ts';
import { verdictOf } from './status-order.ts';

/** A node of the lineage, and the direction to follow from it. */
export interface NeighbourQuery {
  readonly id: string;
  readonly of: 'assets' | 'columns';
  readonly direction: LineageDirection;
  readonly limit: number;
  readonly offset: number;
}

/** The node itself; null if it does not exist or the reader may not see it. */
export function lineageNode(
  reads: PageReads,
  scope: PageScope,
  { id, of }: Pick<NeighbourQuery, 'id' | 'of'>,
): LineageCentre | null {
  return of === 'columns' ? columnNode(reads, scope, id) : assetNode(reads, scope, id);
}

/** The nodes one edge away; null if the node does not exist or the reader may not see it. */
export function neighboursOf(reads: PageReads, scope: PageScope, query: NeighbourQuery): Neighbours | null {
  return query.of === 'columns' ? columnNeighbours(reads, scope, query) : assetNeighbours(reads, scope, query);
}

function assetNode(reads: PageReads, scope: PageScope, id: string): LineageNode | null {
  const [live] = reads.rows({
    sql: `select 1 from live_assets where ${seen(scope, { env: 'env_id', asset: 'id' })} and id = @id`,
    values: valuesIn(scope, { id }),
  });
  if (live === undefined && !lineageOf(reads, scope).has(id)) return null;
  return nodesOf(reads, scope, [id])[0] ?? null;
}

function assetNeighbours(
  reads: PageReads,
  scope: PageScope,
  { id, direction, limit, offset }: NeighbourQuery,
): Neighbours | null {
  if (assetNode(reads, scope, id) === null) return null;
  const lineage = lineageOf(reads, scope);
  const adjacent = lineage.adjacentIds(id, direction);
  const failing = testsOf(reads, scope, adjacent);
  const isFailing = (each: string): number => Number(failing.get(each)?.some((row) => row['fails'] === 1) ?? false);
  const shown = adjacent
    .map((each) => ({ each, degree: lineage.degree(each, direction) }))
    .sort((a, b) => isFailing(b.each) - isFailing(a.each) || b.degree - a.degree || (a.each < b.each ? -1 : 1))
    .slice(offset, offset + limit);
  return {
    total: adjacent.length,
    rows: nodesOf(
      reads,
      scope,
      shown.map(({ each }) => each),
    ),
  };
}

function nodesOf(reads: PageReads, scope: PageScope, ids: readonly string[]): LineageNode[] {
  const lineage = lineageOf(reads, scope);
  const label = labelsOf(reads, scope, ids);
  const tests = testsOf(reads, scope, ids);
  return ids.map((id) => ({
    ...label(id),
    upstream_count: lineage.degree(id, 'upstream'),
    downstream_count: lineage.degree(id, 'downstream'),
    ...verdictOf(tests.get(id) ?? []),
    asset_id: null,
  }));
}

/** The results of the assets' enabled tests, by asset id; empty for a reader without the scope `tests`. */
function testsOf(
  reads: PageReads,
  { env, seesTests }: PageScope,
  ids: readonly string[],
): ReadonlyMap<string, readonly SqlRow[]> {
  if (!seesTests || ids.length === 0) return new Map();
  const rows = reads.rows({
    sql: `select asset_id, status, count(*) as sub_tests, status in ${FAILING} as fails from test_status
      where env_id = @env and asset_id in ${selectValues('ids')} and status is not null group by asset_id, status`,
    values: { env, ids: JSON.stringify(ids) },
  });
  return Map.groupBy(rows, (row) => String(row['asset_id']));
}
