import { Graph, layout } from '@dagrejs/dagre';
import type { LineageGraph, ShownEdge, ShownNode } from './graph.ts';

/** The centre of a node. */
export interface GraphPoint {
  readonly x: number;
  readonly y: number;
}

export type GraphPlaces = ReadonlyMap<string, GraphPoint>;

export const NODE_WIDTH = 200;
export const NODE_HEIGHT = 46;
/** The distance between the centres of adjacent columns. */
const COLUMN_STEP = 320;
const ROW_STEP = NODE_HEIGHT + 14;

/**
 * Assigns a position to each node. Nodes that have one keep it, so nothing moves when a fold is opened or closed. If
 * none has one, the nodes of the first `arrangedSteps` folds are laid out together, and the nodes of each later fold go
 * into free space in the adjacent column.
 */
export function placeNodes(graph: LineageGraph, known: GraphPlaces, arrangedSteps: number): GraphPlaces {
  const nodes = [...graph.nodes.values()];
  const base = nodes.filter(({ step }) => step < arrangedSteps).map(({ node }) => node.id);
  const kept = nodes.filter(({ node }) => known.has(node.id));
  const places = new Map(
    kept.length === 0
      ? arrangeNodes(base, graph.edges)
      : kept.map(({ node }) => [node.id, known.get(node.id) ?? { x: 0, y: 0 }]),
  );
  const steps = Map.groupBy(
    nodes.filter(({ node }) => !places.has(node.id)),
    ({ step }) => step,
  );
  for (const [, group] of [...steps].sort(([a], [b]) => a - b)) placeGroup(graph, group, places);
  return places;
}

/** Lays out nodes and the edges among them from left to right with few crossings. */
function arrangeNodes(ids: readonly string[], edges: readonly ShownEdge[]): GraphPlaces {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: COLUMN_STEP - NODE_WIDTH });
  graph.setDefaultEdgeLabel(() => ({}));
  // Among equally good orders dagre prefers the one that starts with the last node, so both lists are reversed.
  for (const id of [...ids].reverse()) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of [...edges].reverse())
    if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    ids.map((id) => {
      const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
      return [id, { x, y }];
    }),
  );
}

/** Stacks the nodes of one fold as close as possible to the node that they belong to. */
function placeGroup(graph: LineageGraph, group: readonly ShownNode[], places: Map<string, GraphPoint>): void {
  const [first] = group;
  if (first === undefined) return;
  const [neighbour, side] = placedNeighbourOf(graph, first.node.id, places);
  const x = neighbour.x + side * COLUMN_STEP;
  const height = (group.length - 1) * ROW_STEP;
  const taken = [...places.values()].filter((place) => Math.abs(place.x - x) < NODE_WIDTH).map(({ y }) => y);
  const top = findFreeSpace(taken, neighbour.y - height / 2, height);
  for (const [i, { node }] of group.entries()) places.set(node.id, { x, y: top + i * ROW_STEP });
}

/** The placed neighbour of this node, and on which side of it the node goes. */
function placedNeighbourOf(graph: LineageGraph, id: string, places: GraphPlaces): readonly [GraphPoint, number] {
  for (const { from, to } of graph.edges) {
    const [upstream, downstream] = [places.get(from), places.get(to)];
    if (to === id && upstream !== undefined) return [upstream, 1];
    if (from === id && downstream !== undefined) return [downstream, -1];
  }
  return [{ x: 0, y: 0 }, 0];
}

/** The top of the free interval in a column that is closest to the wanted one. */
function findFreeSpace(taken: readonly number[], wanted: number, height: number): number {
  const isFree = (top: number): boolean => taken.every((y) => y <= top - ROW_STEP || y >= top + height + ROW_STEP);
  const tries = [wanted, ...taken.flatMap((y) => [y + ROW_STEP, y - ROW_STEP - height])];
  const free = tries.filter(isFree).sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
  return free[0] ?? wanted;
}
