import type { LineageNode, Neighbours } from '../../page-data/page-data.ts';
import { type FoldDirection, type FoldSide, foldKey, type OpenFold } from './open-folds.ts';

/** The most nodes that the graph shows. */
export const MAX_NODES = 100;

export interface ShownNode {
  readonly node: LineageNode;
  /** The index of the opened fold that added the node; -1 for the centre. */
  readonly step: number;
}

/** An edge from upstream to downstream. */
export interface ShownEdge {
  readonly from: string;
  readonly to: string;
}

/** One side of a visible node that has further neighbours. */
export interface GraphFold {
  readonly id: string;
  readonly direction: FoldDirection;
  /** How many of the neighbours on this side are not shown. */
  readonly hidden: number;
  readonly isOpen: boolean;
}

export interface LineageGraph {
  readonly nodes: ReadonlyMap<string, ShownNode>;
  readonly edges: readonly ShownEdge[];
  readonly folds: readonly GraphFold[];
}

/** The graph after opening these folds in order. A fold whose neighbours are not loaded yet adds nothing. */
export function assembleGraph(
  centre: LineageNode,
  opened: readonly OpenFold[],
  neighboursOf: (fold: FoldSide) => Neighbours | null,
): LineageGraph {
  const nodes = new Map<string, ShownNode>([[centre.id, { node: centre, step: -1 }]]);
  const edges = new Map<string, ShownEdge>();
  for (const [step, { id, direction, count }] of opened.entries()) {
    if (!nodes.has(id)) continue;
    for (const node of neighboursOf({ id, direction })?.rows.slice(0, count) ?? []) {
      if (!nodes.has(node.id) && nodes.size < MAX_NODES) nodes.set(node.id, { node, step });
      if (!nodes.has(node.id)) continue;
      const edge = direction === 'up' ? { from: node.id, to: id } : { from: id, to: node.id };
      edges.set(JSON.stringify([edge.from, edge.to]), edge);
    }
  }
  const shownEdges = [...edges.values()];
  return { nodes, edges: shownEdges, folds: foldsOf(nodes, shownEdges, opened) };
}

function foldsOf(nodes: ReadonlyMap<string, ShownNode>, edges: readonly ShownEdge[], opened: readonly OpenFold[]) {
  const downstream = Map.groupBy(edges, ({ from }) => from);
  const upstream = Map.groupBy(edges, ({ to }) => to);
  const open = new Set(opened.map(foldKey));
  const foldOf = ({ node }: ShownNode, direction: FoldDirection): GraphFold[] => {
    const key = foldKey({ id: node.id, direction });
    const all = direction === 'up' ? node.upstream_count : node.downstream_count;
    const known = (direction === 'up' ? upstream : downstream).get(node.id)?.length ?? 0;
    const fold = { id: node.id, direction, hidden: Math.max(0, all - known), isOpen: open.has(key) && known > 0 };
    return fold.hidden > 0 || fold.isOpen ? [fold] : [];
  };
  return [...nodes.values()].flatMap((shownNode) => [...foldOf(shownNode, 'up'), ...foldOf(shownNode, 'down')]);
}

/** The folds that stay open when one is closed. Folds of nodes that the closed one added are closed too. */
export function closeFold(graph: LineageGraph, opened: readonly OpenFold[], closed: FoldSide): OpenFold[] {
  const gone = new Set([foldKey(closed)]);
  for (const fold of opened) {
    const { step = -1 } = graph.nodes.get(fold.id) ?? {};
    const openedBy = opened[step];
    if (openedBy !== undefined && gone.has(foldKey(openedBy))) gone.add(foldKey(fold));
  }
  return opened.filter((fold) => !gone.has(foldKey(fold)));
}

/** How many nodes one press of a fold adds. */
const STEP_NODES = 12;

/** How many nodes the fold shows after another press; null if the graph is full. */
export function countAfterPress(graph: LineageGraph, opened: readonly OpenFold[], fold: GraphFold): number | null {
  const room = MAX_NODES - graph.nodes.size - countExpected(graph, opened);
  if (room <= 0) return null;
  const known = opened.find((each) => foldKey(each) === foldKey(fold))?.count ?? 0;
  return known + Math.min(STEP_NODES, room);
}

/** How many nodes the folds will add whose neighbours are not loaded yet. */
function countExpected({ nodes, folds }: LineageGraph, opened: readonly OpenFold[]): number {
  const answered = new Set(folds.filter(({ isOpen }) => isOpen).map(foldKey));
  return opened
    .filter((fold) => !answered.has(foldKey(fold)))
    .map(({ id, direction, count }) => {
      const { upstream_count = 0, downstream_count = 0 } = nodes.get(id)?.node ?? {};
      return Math.min(count, direction === 'up' ? upstream_count : downstream_count);
    })
    .reduce((sum, count) => sum + count, 0);
}
