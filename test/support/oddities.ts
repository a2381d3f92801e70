import fc from 'fast-check';
import {
  type EnvironmentModel,
  execute,
  type Item,
  type Kind,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putTest,
  remove,
} from '../model/environment.ts';
import type { World } from '../model/world.ts';
import { FEED_STREAMS } from './catalogue.ts';

/** Two environments. The id of the second one needs encoding. */
export const ENVS = ['e1', 'e/2 ü?'];
const IDS = ['a/b c', 'ü.é', '%2F?&=#', `"o'brien"`, '😀', '0', '__proto__', ' ', 'constructor', 'a0'];

/** An unusual item or its removal: an odd id, or fields with odd names and types. */
export interface Oddity {
  readonly target: Kind | 'execution' | 'score' | 'assetEdge' | 'columnEdge';
  readonly env: string;
  readonly id: string;
  readonly other: string;
  readonly fields: Item;
  readonly removes: boolean;
}

/** Known optional fields, required ones (a row without is rejected, R20), and names that no version knows. */
const NAMES = (
  'description owners tags path parent_id created_at updated_at url data_type config project disabled column_name ' +
  'failure_count exception duration_seconds kind name severity materialization bi_type ' +
  'extra mirrored_at deletion env_id constructor __proto__ 7 zusätzlich'
).split(' ');
const VALUES: readonly unknown[] = [null, 5, 1.5e300, true, '', 'text', '🦉', [], ['x', 1, null], { a: { b: [1] } }];
const KIND_NAMES = ['table', 'bi', 'etl', 'neuland'];
const TIMES = ['1970-01-01T00:00:00', '2026-11-01T10:00:00.123456789+02:00', '2026-02-30T00:00:00Z'];

export const oddities: fc.Arbitrary<Oddity> = fc.record({
  target: fc.constantFrom<Oddity['target'][]>(
    ...FEED_STREAMS,
    ...FEED_STREAMS,
    'execution',
    'score',
    'assetEdge',
    'columnEdge',
  ),
  env: fc.constantFrom(...ENVS),
  id: fc.constantFrom(...IDS),
  other: fc.constantFrom(...IDS),
  fields: fc
    .array(
      fc.tuple(
        fc.constantFrom(...NAMES),
        fc.oneof(fc.constantFrom(...VALUES), fc.constantFrom(...TIMES), fc.constantFrom(...KIND_NAMES)),
      ),
      { maxLength: 4 },
    )
    .map((members) => Object.fromEntries(members)),
  removes: fc.nat({ max: 4 }).map((n) => n === 0),
});

export function applyOddity(world: World, { target, env, id, other, fields, removes }: Oddity): void {
  const place = world.environment(env);
  if (removes && isKind(target)) remove(place, target, id);
  else if (target === 'assets') putAsset(place, id, fields);
  else if (target === 'columns') putColumn(place, id, other, fields);
  else if (target === 'tests') putTest(place, id, other, fields);
  else if (isKind(target)) putSample(place, target, id, other, fields);
  else if (target === 'execution') execute(place, other, id, { ...fields, sub_test_unique_id: id });
  else if (target === 'score') oddScore(place, id, fields);
  else if (target === 'assetEdge') putAssetEdge(place, id, other);
  else putColumnEdges(place, id, removes ? [] : [other, id]);
}

const isKind = (at: Oddity['target']): at is Kind => FEED_STREAMS.some((kind) => kind === at);

/** A score with the same fields at every level. */
export function oddScore(env: EnvironmentModel, id: string, fields: Item): void {
  const bucket = { score: 0.5, test_count: 2, bucket_at: `${env.stamp().slice(0, 13)}:00:00` };
  env.scores.set(id, {
    ...fields,
    asset_id: id,
    total: { ...fields, ...bucket },
    dimensions: [{ ...fields, ...bucket, dimension: 'freshness' }],
  });
}
