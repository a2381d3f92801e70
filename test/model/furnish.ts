import { PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  execute,
  type Place,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putScore,
  putTest,
} from './place.ts';

/** Some of everything: three tables, a dashboard and an etl; columns, tests, edges, executions, scores. */
export function furnish(place: Place): void {
  for (const id of ['a1', 'a2', 'a3']) putAsset(place, id, { tags: ['x'] });
  putAsset(place, 'b1', { kind: 'bi' });
  putAsset(place, 'o1', { kind: 'etl', flow: 7 });
  for (const id of ['a1', 'a2', 'a3']) for (const n of [1, 2, 3]) putColumn(place, `${id}.c${n}`, id);
  for (const n of [1, 2]) putTest(place, `t${n}`, 'a1');
  putTest(place, 't3', 'a2', { disabled: true });
  putTest(place, 't4', null, { config: { at: 1 } });
  putAssetEdge(place, 'a1', 'a2');
  putAssetEdge(place, 'a2', 'a3');
  putAssetEdge(place, 'a3', 'b1');
  putColumnEdges(place, 'a2.c1', ['a1.c1', 'a1.c2']);
  putColumnEdges(place, 'a2.c2', ['a1.c2']);
  putColumnEdges(place, 'a3.c1', ['a2.c1', 'elsewhere']);
  for (const id of ['t1', 't2', 't3']) execute(place, id, `${id}-r1`);
  execute(place, 't1', 't1-r1b', { sub_test_unique_id: 't1.2', status: 'FAIL', failure_count: null });
  for (const kind of PLAIN_FEEDS) for (const n of [1, 2]) putSample(place, kind, `${kind}${n}`, 'a1');
  putScore(place, 'a1', 0.5);
  putScore(place, 'a2', 0.75, { freshness: 1, validity: 0.5 });
}
