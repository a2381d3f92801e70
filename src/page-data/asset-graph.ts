import type { ReachCount } from './page-data.ts';
import { type PageScope, selectTexts } from './page-scope.ts';
import { cacheBySignature, snapshotSignature } from './signature-cache.ts';

export type LineageDirection = 'upstream' | 'downstream';

/** All readers share one graph. `VisibleLineage` hides what a reader may not see. */
const graphOf = cacheBySignature(2, snapshotSignature('asset_lineage'), readGraph);

type AssetGraph = ReturnType<typeof readGraph>;

/** The asset lineage of one environment, with numbers instead of ids. A million edges take about 50 MB. */
function readGraph(scope: PageScope) {
  const numbers = new Map<string, number>();
  const ends = (column: string): Uint32Array => {
    const sql = `select ${column} from asset_lineage where env_id = @env order by upstream_asset_id, downstream_asset_id`;
    return Uint32Array.from(selectTexts(scope, sql), (id) => numberFor(numbers, id ?? ''));
  };
  const [up, down] = [ends('upstream_asset_id'), ends('downstream_asset_id')];
  return {
    ids: [...numbers.keys()],
    numbers,
    upstream: edgeList(numbers.size, down, up),
    downstream: edgeList(numbers.size, up, down),
  };
}

/** 1 for each node whose asset meets the condition. */
function flagAssetsWhere(scope: PageScope, { numbers }: AssetGraph, condition: string): Uint8Array {
  return flagNodes(numbers, selectTexts(scope, `select id from assets where env_id = @env and ${condition}`));
}

function numberFor(numbers: Map<string, number>, id: string): number {
  const known = numbers.get(id);
  if (known !== undefined) return known;
  numbers.set(id, numbers.size);
  return numbers.size - 1;
}

/** 1 for each node whose id is in the list. */
function flagNodes(numbers: AssetGraph['numbers'], ids: readonly (string | null)[]): Uint8Array {
  const marks = new Uint8Array(numbers.size);
  for (const id of ids) {
    const number = numbers.get(id ?? '');
    if (number !== undefined) marks[number] = 1;
  }
  return marks;
}

type EdgeList = ReturnType<typeof edgeList>;

/**
 * The edges grouped by the node they start from, without loops. Those of node `n` are `ends[starts[n]]` to
 * `ends[starts[n + 1] - 1]`.
 */
function edgeList(nodes: number, from: Uint32Array, to: Uint32Array) {
  const starts = new Uint32Array(nodes + 1);
  for (const [i, node] of from.entries()) if (node !== to[i]) starts[node + 1] = (starts[node + 1] ?? 0) + 1;
  for (let node = 0; node < nodes; node += 1) starts[node + 1] = (starts[node + 1] ?? 0) + (starts[node] ?? 0);
  const ends = new Uint32Array(starts[nodes] ?? 0);
  const next = starts.slice();
  for (const [i, node] of from.entries()) {
    const end = to[i] ?? 0;
    if (node === end) continue;
    const at = next[node] ?? 0;
    ends[at] = end;
    next[node] = at + 1;
  }
  return { starts, ends };
}

export const NO_REACH: ReachCount = { downstream_count: 0, downstream_bi_count: 0, downstream_cut: false };

/** A walk stops counting at this number of assets. */
const MAX_REACHED = 10_000;

/**
 * The lineage of an environment as the reader sees it. It is cached for one state of the mirror, in which nothing
 * changes: its cache ends with that state, because each lineage refers to its graph.
 */
export const lineageOf = cacheBySignature(
  4,
  () => '',
  readLineage,
  ({ reads }) => reads,
);

export type VisibleLineage = ReturnType<typeof readLineage>;

/** No walk enters or passes an asset that is deleted or hidden from the reader. */
function readLineage(scope: PageScope) {
  const graph = graphOf({ ...scope, limit: null });
  const hidden = hiddenFrom(scope, graph);
  const bi = flagAssetsWhere(scope, graph, `deleted_at is null and kind = 'bi'`);
  const nodeOf = (id: string): number | undefined => {
    const node = graph.numbers.get(id);
    return node === undefined || hidden[node] === 1 ? undefined : node;
  };
  const adjacentNodes = (id: string, direction: LineageDirection): number[] => {
    const node = nodeOf(id);
    return node === undefined ? [] : [...edgesFrom(graph[direction], node)].filter((end) => hidden[end] === 0);
  };
  const idOf = (node: number): string => graph.ids[node] ?? '';
  const { walkFrom, steps } = createWalker(graph, hidden);
  return {
    /** The ids of assets one edge away. */
    adjacentIds: (id: string, direction: LineageDirection) => adjacentNodes(id, direction).map(idOf),
    /** The number of assets one edge away. */
    degree: (id: string, direction: LineageDirection) => adjacentNodes(id, direction).length,
    /** Whether the asset has any edge that the reader sees. */
    has: (id: string) => adjacentNodes(id, 'upstream').length > 0 || adjacentNodes(id, 'downstream').length > 0,
    countDownstream(id: string): ReachCount {
      const node = nodeOf(id);
      return node === undefined ? NO_REACH : countReached(walkFrom(node, 'downstream'), bi);
    },
    /** A flag for each node: 1 if its id is in the list. For `nearest`. */
    flagged: (ids: readonly string[]) => flagNodes(graph.numbers, ids),
    /** The closest flagged assets upstream, all at the same depth. */
    nearest(id: string, marked: Uint8Array) {
      const node = nodeOf(id);
      if (node === undefined) return null;
      let reached = 0;
      for (const { nodes, depth } of walkFrom(node, 'upstream')) {
        const found = nodes.filter((each) => marked[each] === 1);
        if (found.length > 0) return { ids: found.map(idOf), depth };
        reached += nodes.length;
        if (reached > MAX_REACHED) return null;
      }
      return null;
    },
    /** The number of edges followed by all walks so far. */
    steps,
  };
}

/** 1 for each node that is deleted or hidden from the reader. */
function hiddenFrom(scope: PageScope, graph: AssetGraph): Uint8Array {
  const deleted = flagAssetsWhere(scope, graph, 'deleted_at is not null');
  if (scope.limit === null) return deleted;
  const visible = flagNodes(graph.numbers, selectTexts(scope, `select id from ${scope.limit.ids}`));
  return deleted.map((isDeleted, node) => (isDeleted === 1 || visible[node] === 0 ? 1 : 0));
}

function edgesFrom({ starts, ends }: EdgeList, node: number): Uint32Array {
  return ends.subarray(starts[node] ?? 0, starts[node + 1] ?? 0);
}

function createWalker(graph: AssetGraph, hidden: Uint8Array) {
  /** The last walk that visited each node. */
  const met = new Uint32Array(graph.ids.length);
  let [walks, steps] = [0, 0];
  /** Walks breadth first. It yields the nodes at each distance, each once, but not the start. */
  function* walkFrom(start: number, direction: LineageDirection) {
    walks += 1;
    const walk = walks;
    met[start] = walk;
    let nodes: readonly number[] = [start];
    for (let depth = 1; nodes.length > 0; depth += 1) {
      const next: number[] = [];
      for (const node of nodes) {
        const ends = edgesFrom(graph[direction], node);
        steps += ends.length;
        for (const end of ends) {
          if (hidden[end] === 1 || met[end] === walk) continue;
          met[end] = walk;
          next.push(end);
        }
      }
      if (next.length > 0) yield { nodes: next, depth };
      nodes = next;
    }
  }
  return { walkFrom, steps: () => steps };
}

function countReached(levels: Iterable<{ nodes: readonly number[] }>, bi: Uint8Array): ReachCount {
  let [count, biCount] = [0, 0];
  for (const { nodes } of levels)
    for (const node of nodes) {
      if (count === MAX_REACHED) return { downstream_count: count, downstream_bi_count: biCount, downstream_cut: true };
      count += 1;
      biCount += bi[node] ?? 0;
    }
  return { downstream_count: count, downstream_bi_count: biCount, downstream_cut: false };
}

/** The budget of edges for ranking assets. */
const MAX_STEPS = 700_000;

/**
 * The assets with their reach, most downstream assets first. Those with the most direct consumers are counted first;
 * once the budget is spent, the others follow in that order, with a reach of `null`.
 */
export function rankByReach(lineage: VisibleLineage, ids: readonly string[]) {
  const direct = ids
    .map((id) => ({ id, degree: lineage.degree(id, 'downstream') }))
    .sort((a, b) => b.degree - a.degree || (a.id < b.id ? -1 : 1));
  const limit = lineage.steps() + MAX_STEPS;
  return direct
    .map(({ id }) => ({ id, reach: lineage.steps() < limit ? lineage.countDownstream(id) : null }))
    .sort((a, b) => (b.reach?.downstream_count ?? -1) - (a.reach?.downstream_count ?? -1));
}
