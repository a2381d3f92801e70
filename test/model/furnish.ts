import { PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  type EnvironmentModel,
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putScore,
  putTest,
} from './environment.ts';

/** Creates a few entities of every kind: tables, a dashboard, columns, tests, edges, executions and scores. */
export function furnish(env: EnvironmentModel): void {
  for (const id of ['a1', 'a2', 'a3']) putAsset(env, id, { tags: ['x'] });
  putAsset(env, 'b1', { kind: 'bi' });
  putAsset(env, 'o1', { kind: 'etl', flow: 7 });
  for (const id of ['a1', 'a2', 'a3']) for (const n of [1, 2, 3]) putColumn(env, `${id}.c${n}`, id);
  for (const n of [1, 2]) putTest(env, `t${n}`, 'a1');
  putTest(env, 't3', 'a2', { disabled: true });
  putTest(env, 't4', null, { config: { at: 1 } });
  putAssetEdge(env, 'a1', 'a2');
  putAssetEdge(env, 'a2', 'a3');
  putAssetEdge(env, 'a3', 'b1');
  putColumnEdges(env, 'a2.c1', ['a1.c1', 'a1.c2']);
  putColumnEdges(env, 'a2.c2', ['a1.c2']);
  putColumnEdges(env, 'a3.c1', ['a2.c1', 'elsewhere']);
  for (const id of ['t1', 't2', 't3']) execute(env, id, `${id}-r1`);
  execute(env, 't1', 't1-r1b', { sub_test_unique_id: 't1.2', status: 'FAIL', failure_count: null });
  for (const kind of PLAIN_FEEDS) for (const n of [1, 2]) putSample(env, kind, `${kind}${n}`, 'a1');
  putScore(env, 'a1', 0.5);
  putScore(env, 'a2', 0.75, { freshness: 1, validity: 0.5 });
}
