import { SyncError } from '../core/errors.ts';

/** How much each dimension counts in a total; one that is not named counts 1. */
export type DimensionWeights = ReadonlyMap<string, number>;

/** Reads `completeness=2,freshness=0.5`. @throws SyncError `usage` */
export function parseDimensionWeights(text: string): DimensionWeights {
  const weights = text.split(',').map(parseWeight);
  const twice = weights.find(([dimension], i) => weights.findIndex(([other]) => other === dimension) < i);
  if (twice !== undefined) throw new SyncError('usage', `--dimension-weights names ${twice[0]} more than once`);
  return new Map(weights);
}

function parseWeight(text: string): [dimension: string, weight: number] {
  const [, dimension = '', weight = ''] = /^\s*([^=\s]+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  if (dimension === '')
    throw new SyncError(
      'usage',
      `--dimension-weights ${text}: write dimension=weight, separated by commas, such as completeness=2,freshness=0.5`,
    );
  return [dimension, Number(weight)];
}
