import { Graph, layout } from '@dagrejs/dagre';
import { type ArrangeNodes, COLUMN_STEP, NODE_HEIGHT, NODE_WIDTH } from './place.ts';

/** Lays out nodes from left to right with few crossings. */
export const arrangeNodes: ArrangeNodes = (ids, edges) => {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: COLUMN_STEP - NODE_WIDTH });
  graph.setDefaultEdgeLabel(() => ({}));
  // Among equally good orders dagre prefers the one that starts with the last node, so both lists are reversed.
  for (const id of [...ids].reverse()) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of [...edges].reverse()) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    ids.map((id) => {
      const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
      return [id, { x, y }];
    }),
  );
};
