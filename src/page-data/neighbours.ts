import type { LineageDirection } from './asset-graph.ts';
import type { PageRange } from './failing-now.ts';
import { NODE_READERS } from './lineage-nodes.ts';
import type { LineageNode, Neighbours } from './page-data.ts';
import type { PageScope } from './page-scope.ts';

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
