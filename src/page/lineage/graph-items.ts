import type { LineageNode } from '../../page-data/page-data.ts';
import type { GraphFold, LineageGraph } from './graph.ts';
import { type GraphPlaces, type GraphPoint, NODE_WIDTH } from './place.ts';

/** A focusable element of the graph that can be pressed. */
export type GraphItem = GraphPoint & { readonly key: string } & (
    | { readonly kind: 'node'; readonly node: LineageNode }
    | { readonly kind: 'more' | 'close'; readonly fold: GraphFold }
  );

const FOLD_DISTANCE = NODE_WIDTH / 2 + 26;
const FOLD_OFFSET = 12;

/** All items that can be pressed, in the order of the nodes. */
export function graphItems({ nodes, folds }: LineageGraph, places: GraphPlaces): GraphItem[] {
  const foldsOf = Map.groupBy(folds, ({ id }) => id);
  return [...nodes].flatMap(([id, { node }]): GraphItem[] => {
    const place = places.get(id) ?? { x: 0, y: 0 };
    const around = (foldsOf.get(id) ?? []).flatMap((fold) => foldItems(fold, place));
    return [
      ...around.filter(({ x }) => x < place.x),
      { key: `node ${id}`, kind: 'node', node, ...place },
      ...around.filter(({ x }) => x > place.x),
    ];
  });
}

function foldItems(fold: GraphFold, place: GraphPoint): GraphItem[] {
  const x = place.x + (fold.direction === 'up' ? -FOLD_DISTANCE : FOLD_DISTANCE);
  const offset = fold.isOpen && fold.hidden > 0 ? FOLD_OFFSET : 0;
  const key = `${fold.direction} ${fold.id}`;
  return [
    ...(fold.hidden > 0 ? [{ key: `more ${key}`, kind: 'more' as const, fold, x, y: place.y - offset }] : []),
    ...(fold.isOpen ? [{ key: `close ${key}`, kind: 'close' as const, fold, x, y: place.y + offset }] : []),
  ];
}

const SAME_COLUMN = 60;
/** Moving sideways prefers items at the same height. */
const SIDEWAYS_WEIGHT = 2.5;

/** The item that an arrow key moves to from here; null if there is none in that direction. */
export function itemToward(items: readonly GraphItem[], from: GraphItem, arrow: string): GraphItem | null {
  const distances = items.flatMap((item) => {
    const [right, down] = [item.x - from.x, item.y - from.y];
    const isSideways = arrow === 'ArrowLeft' || arrow === 'ArrowRight';
    const ahead = { ArrowLeft: -right, ArrowRight: right, ArrowUp: -down, ArrowDown: down }[arrow] ?? 0;
    const aside = Math.abs(isSideways ? down : right);
    if (item.key === from.key || ahead <= 0 || (!isSideways && aside > SAME_COLUMN)) return [];
    return [{ item, distance: ahead + aside * (isSideways ? SIDEWAYS_WEIGHT : 1) }];
  });
  return distances.sort((a, b) => a.distance - b.distance)[0]?.item ?? null;
}
