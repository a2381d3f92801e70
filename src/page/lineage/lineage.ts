import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Neighbours } from '../../page-data/page-data.ts';
import { component, html } from '../html.ts';
import { liveState, refetch } from '../live-data.ts';
import { changeValues, route } from '../navigation.ts';
import type { PageQuery } from '../page-source.ts';
import { useLiveQueries } from '../parts/live-view.ts';
import { describeProblem, notice } from '../parts/notice.ts';
import { useColumnLineage } from './column-lineage.ts';
import { assembleGraph, closeFold, countAfterPress, type GraphFold, type LineageGraph, MAX_NODES } from './graph.ts';
import type { GraphItem } from './graph-items.ts';
import { GraphView } from './graph-view.ts';
import { nodePanel } from './node-panel.ts';
import { type FoldSide, firstFolds, foldKey, formatFolds, type OpenFold, parseFolds } from './open-folds.ts';
import { type GraphPlaces, placeNodes } from './place.ts';

export interface LineageOptions {
  readonly env: string;
  /** The id of the asset in the middle. */
  readonly centre: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The lineage of an asset: one level in each direction at first, more where the reader opens folds. */
export function Lineage({ env, centre, values }: LineageOptions): VNode {
  const opened = openFoldsIn(values, centre);
  const middle: PageQuery<'node'> = { name: 'node', env, parameters: { id: centre } };
  const queries = opened.map((fold) => neighboursQuery(env, fold));
  useFetchedOnce(env, centre, [middle, ...queries]);
  const neighboursOf = useNeighbours(opened, queries);
  const { data, problem } = liveState(middle);
  const columns = useColumnLineage(env, (data && values['column']) ?? null, values['node'] ?? null);
  const places = useRef<GraphPlaces>(new Map());
  const arrangement = useRef(0);
  if (data === null && problem !== null) return notice('neutral', describeProblem(problem));
  if (data === null || (places.current.size === 0 && queries.some(isWaiting)))
    return html`<p class="faint">Loading …</p>`;
  const graph = assembleGraph(data, opened, neighboursOf);
  places.current = placeNodes(graph, places.current, Number(values['arranged'] ?? 2));
  const arrange = (): void => {
    places.current = new Map();
    arrangement.current += 1;
    changeValues({ arranged: String(opened.length) });
  };
  const selected = graph.nodes.get(values['node'] ?? '')?.node ?? null;
  return html`<div>
    ${component(GraphView, {
      graph,
      centre,
      places: places.current,
      selected: selected?.id ?? null,
      columns,
      arrangement: arrangement.current,
      arrange,
      press: (item) => press(item, graph, centre),
    })}
    <p class="faint" role="status">${sizeOf(graph)}${progressOf(queries)}</p>
    ${selected !== null && nodePanel({ env, node: selected, values, graph, columns })}
  </div>`;
}

function press(item: GraphItem, graph: LineageGraph, centre: string): void {
  // Reads the route itself: a second press may come before the first one is rendered.
  const opened = openFoldsIn(route.value.values, centre);
  if (item.kind === 'node') changeValues({ node: item.node.id, column: null, columnsFrom: null });
  else if (item.kind === 'more') openMore(graph, opened, item.fold);
  else changeOpened(closeFold(graph, opened, item.fold));
}

function sizeOf({ nodes }: LineageGraph): string {
  if (nodes.size >= MAX_NODES) return `${MAX_NODES} assets are shown, the maximum. Close a fold to open another.`;
  return nodes.size === 1 ? 'No lineage of this asset is known.' : `${nodes.size} assets are shown.`;
}

const openFoldsIn = (values: LineageOptions['values'], centre: string): OpenFold[] =>
  values['open'] === undefined ? firstFolds(centre) : parseFolds(values['open']);

function openMore(graph: LineageGraph, opened: readonly OpenFold[], fold: GraphFold): void {
  const count = countAfterPress(graph, opened, fold);
  if (count === null) return;
  const { id, direction } = fold;
  const isOpen = opened.some((each) => foldKey(each) === foldKey(fold));
  changeOpened(
    isOpen
      ? opened.map((each) => (foldKey(each) === foldKey(fold) ? { ...each, count } : each))
      : [...opened, { id, direction, count }],
  );
}

function changeOpened(opened: readonly OpenFold[]): void {
  changeValues({ open: formatFolds(opened) }, { isStep: true });
}

const neighboursQuery = (env: string, { id, direction, count }: OpenFold): PageQuery<'neighbours'> => ({
  name: 'neighbours',
  env,
  parameters: { id, direction: direction === 'up' ? 'upstream' : 'downstream', limit: String(count) },
});

function progressOf(queries: readonly PageQuery[]): string {
  if (queries.some(isWaiting)) return ' Loading more …';
  const [problem] = queries.flatMap((query) => liveState(query).problem ?? []);
  return problem === undefined ? '' : ` ${describeProblem(problem)}`;
}

function isWaiting(query: PageQuery): boolean {
  const { data, problem } = liveState(query);
  return data === null && problem === null;
}

/** A graph consists of many responses, fetched again only if the asset itself shows that the mirror has changed. */
function useFetchedOnce(env: string, centre: string, queries: readonly PageQuery[]): void {
  useLiveQueries(queries, { once: true });
  const { tag } = liveState({ name: 'asset', env, parameters: { id: centre } });
  const seen = useRef(tag);
  useEffect(() => {
    if (seen.current !== tag && tag !== null) refetch(queries);
    seen.current = tag;
  }, [tag]);
}

/** The neighbours of all open folds. While a fold loads more, its previous neighbours stay visible. */
function useNeighbours(opened: readonly OpenFold[], queries: readonly PageQuery<'neighbours'>[]) {
  const kept = useRef(new Map<string, Neighbours>());
  for (const [i, query] of queries.entries()) {
    const { data } = liveState(query);
    const fold = opened[i];
    if (data !== null && fold !== undefined) kept.current.set(foldKey(fold), data);
  }
  return (fold: FoldSide) => kept.current.get(foldKey(fold)) ?? null;
}
