import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assembleGraph,
  closeFold,
  countAfterPress,
  type LineageGraph,
  MAX_NODES,
} from '../../src/page/lineage/graph.ts';
import { firstFolds, foldKey, formatFolds, type OpenFold, parseFolds } from '../../src/page/lineage/open-folds.ts';
import { type GraphPlaces, NODE_HEIGHT, NODE_WIDTH, placeNodes } from '../../src/page/lineage/place.ts';
import { formatRoute, parseRoute, VIEWS } from '../../src/page/route.ts';
import type { LineageNode } from '../../src/page-data/page-data.ts';

/** A lineage of this many assets, each with edges to some later ones. */
const estates = fc
  .record({
    size: fc.integer({ min: 1, max: 150 }),
    leaps: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
  })
  .map(({ size, leaps }) => {
    const edges = Array.from({ length: size }, (_, from) =>
      leaps.slice(0, (from % leaps.length) + 1).map((leap) => [from, from + leap] as const),
    )
      .flat()
      .filter(([, to]) => to < size);
    const upstreamOf = (id: string) => edges.filter(([, to]) => `n${to}` === id).map(([from]) => `n${from}`);
    const downstreamOf = (id: string) => edges.filter(([from]) => `n${from}` === id).map(([, to]) => `n${to}`);
    const node = (id: string): LineageNode => ({
      id,
      name: id,
      kind: 'table',
      upstream_count: new Set(upstreamOf(id)).size,
      downstream_count: new Set(downstreamOf(id)).size,
      status: null,
      failing_count: 0,
      asset_id: null,
    });
    const neighboursOf = ({ id, direction }: Pick<OpenFold, 'id' | 'direction'>) => {
      const ids = [...new Set(direction === 'up' ? upstreamOf(id) : downstreamOf(id))];
      return { total: ids.length, rows: ids.map(node) };
    };
    return { centre: node(`n${Math.floor(size / 2)}`), neighboursOf };
  });

/** Which fold is pressed next, and whether to open or close it. */
const presses = fc.array(fc.record({ at: fc.nat(), closes: fc.boolean() }), { maxLength: 25 });

function next(
  graph: LineageGraph,
  opened: readonly OpenFold[],
  { at, closes }: { at: number; closes: boolean },
): readonly OpenFold[] {
  const folds = graph.folds.filter(({ isOpen, hidden }) => (closes ? isOpen : hidden > 0));
  const fold = folds[at % Math.max(1, folds.length)];
  if (fold === undefined) return opened;
  if (closes) return closeFold(graph, opened, fold);
  const count = countAfterPress(graph, opened, fold);
  if (count === null) return opened;
  const others = opened.filter((each) => foldKey(each) !== foldKey(fold));
  return others.length === opened.length
    ? [...opened, { id: fold.id, direction: fold.direction, count }]
    : opened.map((each) => (foldKey(each) === foldKey(fold) ? { ...each, count } : each));
}

const overlaps = (places: GraphPlaces): string[] => {
  const all = [...places];
  return all.flatMap(([id, a], i) =>
    all
      .slice(i + 1)
      .filter(([, b]) => Math.abs(a.x - b.x) < NODE_WIDTH && Math.abs(a.y - b.y) < NODE_HEIGHT)
      .map(([other]) => `${id} ${other}`),
  );
};

const placed = (graph: LineageGraph, known: GraphPlaces) => placeNodes(graph, known, 2);

describe('the lineage graph, whichever folds are opened and closed', () => {
  test('it shows at most 100 assets, moves none and lets none overlap', () => {
    fc.assert(
      fc.property(estates, presses, ({ centre, neighboursOf }, pressed) => {
        let opened: readonly OpenFold[] = firstFolds(centre.id);
        let graph = assembleGraph(centre, opened, neighboursOf);
        let places = placed(graph, new Map());
        for (const press of pressed) {
          opened = next(graph, opened, press);
          graph = assembleGraph(centre, opened, neighboursOf);
          const before = places;
          places = placed(graph, before);
          expect(graph.nodes.size).toBeLessThanOrEqual(MAX_NODES);
          expect([...places.keys()].sort()).toEqual([...graph.nodes.keys()].sort());
          for (const [id, place] of places) if (before.has(id)) expect(place).toEqual(before.get(id));
          expect(overlaps(places)).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('the visible neighbours of an asset and the counts of its folds add up to all its neighbours', () => {
    fc.assert(
      fc.property(estates, presses, ({ centre, neighboursOf }, pressed) => {
        let opened: readonly OpenFold[] = firstFolds(centre.id);
        for (const press of pressed) opened = next(assembleGraph(centre, opened, neighboursOf), opened, press);
        const { nodes, edges, folds } = assembleGraph(centre, opened, neighboursOf);
        for (const { node } of nodes.values()) {
          const shown = edges.filter(({ from }) => from === node.id).length;
          const hidden = folds.find(({ id, direction }) => id === node.id && direction === 'down')?.hidden ?? 0;
          expect(shown + hidden).toBe(node.downstream_count);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the address of the page', () => {
  test('parsing a formatted list of open folds returns the same folds, whatever their ids', () => {
    const folds = fc.array(
      fc.record({
        id: fc.string({ minLength: 1, unit: 'grapheme' }),
        direction: fc.constantFrom('up' as const, 'down' as const),
        count: fc.integer({ min: 1, max: 100 }),
      }),
    );
    fc.assert(
      fc.property(folds, (opened) => {
        expect(parseFolds(formatFolds(opened))).toEqual(opened);
      }),
    );
  });

  test('parsing a formatted route returns the same route, whatever its values', () => {
    const names = fc
      .string({ minLength: 1, unit: 'grapheme' })
      .filter((name) => name !== 'env' && name !== '__proto__');
    const routes = fc.record({
      view: fc.constantFrom(...VIEWS),
      env: fc.option(fc.string({ unit: 'grapheme' })),
      values: fc.dictionary(names, fc.string({ unit: 'grapheme' }), { noNullPrototype: true }),
    });
    fc.assert(
      fc.property(routes, (route) => {
        expect(parseRoute(formatRoute(route))).toEqual(route);
      }),
    );
  });

  test.each(['', '#', '#/nothing', '#/asset?%', '#/asset?open=%E0%A4%A', '#token'])(
    'any text parses as a route with a known view: %s',
    (hash) => {
      expect(VIEWS).toContain(parseRoute(hash).view);
      expect(parseFolds(hash)).toEqual([]);
    },
  );
});
