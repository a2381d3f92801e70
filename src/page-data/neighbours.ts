import { type LineageDirection, lineageOf } from './asset-graph.ts';
import type { PageRange } from './failing-now.ts';
import { labelsOf } from './labels.ts';
import type { LineageNode, Neighbours } from './page-data.ts';
import { type PageScope, seen, selectRows, selectTexts } from './page-scope.ts';
import { verdictsOf } from './status-order.ts';

const isLive = (scope: PageScope, table: 'live_assets' | 'live_columns', asset: string, id: string): boolean =>
  selectRows(scope, `select 1 from ${table} where ${seen(scope, asset)} and id = @id`, { id }).length > 0;

/** How the nodes of a lineage are read. */
const assetNodes = {
  /** Whether the node exists and the reader may see it. An asset that was never mirrored may have edges. */
  has: (scope: PageScope, id: string) => isLive(scope, 'live_assets', 'id', id) || lineageOf(scope).has(id),
  adjacentIds(scope: PageScope, id: string, direction: LineageDirection): string[] {
    return lineageOf(scope).adjacentIds(id, direction);
  },
  nodes(scope: PageScope, ids: readonly string[]): LineageNode[] {
    const lineage = lineageOf(scope);
    const verdict = verdictsOf(scope, 'asset_id', ids);
    return ids.map((id) => ({
      ...{ id, name: null, kind: null },
      upstream_count: lineage.degree(id, 'upstream'),
      downstream_count: lineage.degree(id, 'downstream'),
      ...verdict(id),
      asset_id: null,
    }));
  },
  /** Completes nodes with what is not needed to order them. */
  label(scope: PageScope, nodes: readonly LineageNode[]): LineageNode[] {
    const ids = nodes.map(({ id }) => id);
    const label = labelsOf(scope, ids);
    return nodes.map((node) => ({ ...node, ...label(node.id) }));
  },
};

/** The columns at the near and far end of an edge, by direction. */
const ENDS = {
  upstream: { from: 'downstream_column_id', to: 'upstream_column_id' },
  downstream: { from: 'upstream_column_id', to: 'downstream_column_id' },
} as const;

/** A restricted reader sees an edge only if both columns' assets are visible, even when asking for the other end. */
function columnEdges(scope: PageScope, direction: LineageDirection, id: string): string {
  const { from, to } = ENDS[direction];
  return `from column_lineage e left join columns o on o.env_id = e.env_id and o.id = e.${to}
    where ${seen(scope, 'o.asset_id', 'e.env_id')} and e.${from} = ${id} and e.${to} <> ${id} and o.deleted_at is null`;
}

const columnNodes: typeof assetNodes = {
  has: (scope, id) => isLive(scope, 'live_columns', 'asset_id', id),
  adjacentIds: (scope, id, direction) =>
    selectTexts(scope, `select e.${ENDS[direction].to} ${columnEdges(scope, direction, '@id')}`, { id }).map(String),
  nodes(scope, ids) {
    const tested = (asset: string, name: string): string => `json_array(${asset}, lower(${name}))`;
    const sql = `select i.value as id, c.name, iif(c.name is null, null, 'column') as kind,
        (select count(*) ${columnEdges(scope, 'upstream', 'i.value')}) as upstream_count,
        (select count(*) ${columnEdges(scope, 'downstream', 'i.value')}) as downstream_count,
        c.asset_id, ${tested('c.asset_id', 'c.name')} as tested
      from json_each(@ids) i left join columns c on c.env_id = @env and c.id = i.value and c.deleted_at is null`;
    const rows = selectRows<Omit<LineageNode, 'status' | 'failing_count'> & { tested: string }>(scope, sql, { ids });
    const assets = new Set(rows.map(({ asset_id }) => asset_id));
    const verdict = verdictsOf(scope, tested('asset_id', 'column_name'), [...assets]);
    return rows.map(({ tested: column, asset_id, ...node }) => ({ ...node, ...verdict(column), asset_id }));
  },
  label: (_, nodes) => [...nodes],
};

const NODE_READERS = { assets: assetNodes, columns: columnNodes } as const;

/** A node of the lineage, and the direction to follow from it. */
export interface NeighbourQuery extends PageRange {
  readonly id: string;
  readonly of: keyof typeof NODE_READERS;
  readonly direction: LineageDirection;
}

/** The node itself; null if it does not exist or the reader may not see it. */
export function lineageNode(scope: PageScope, { id, of }: Pick<NeighbourQuery, 'id' | 'of'>): LineageNode | null {
  const reader = NODE_READERS[of];
  return reader.has(scope, id) ? (reader.label(scope, reader.nodes(scope, [id]))[0] ?? null) : null;
}

/** The nodes one edge away; null if the node does not exist or the reader may not see it. */
export function neighboursOf(
  scope: PageScope,
  { id, of, direction, limit, offset }: NeighbourQuery,
): Neighbours | null {
  const reader = NODE_READERS[of];
  if (!reader.has(scope, id)) return null;
  const further = `${direction}_count` as const;
  const isFailing = ({ failing_count }: LineageNode): number => Number(failing_count > 0);
  const nodes = reader
    .nodes(scope, reader.adjacentIds(scope, id, direction))
    .sort((a, b) => isFailing(b) - isFailing(a) || b[further] - a[further] || (a.id < b.id ? -1 : 1));
  return { total: nodes.length, rows: reader.label(scope, nodes.slice(offset, offset + limit)) };
}
