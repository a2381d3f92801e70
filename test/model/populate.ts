import { PLAIN_FEEDS } from '../support/catalogue.ts';
import { ASSET_KINDS, sampleId } from './actions.ts';
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

/** The initial content of an environment: four assets with everything that belongs to them. */
export function populate(env: EnvironmentModel): void {
  for (const n of [0, 1, 2, 3]) {
    putAsset(env, `a${n}`, { kind: ASSET_KINDS[n] });
    for (const m of [0, 1]) putColumn(env, `a${n}.c${m}`, `a${n}`);
    putTest(env, `t${n}`, `a${n}`, { disabled: n === 3 });
    execute(env, `t${n}`, `t${n}-first`);
    for (const kind of PLAIN_FEEDS) putSample(env, kind, sampleId(kind, n), `a${n}`);
    putScore(env, `a${n}`, 0.5);
  }
  for (const n of [1, 2, 3]) {
    putColumnEdges(env, `a${n}.c0`, ['a0.c0', 'far']);
    putAssetEdge(env, 'a0', `a${n}`);
  }
}
