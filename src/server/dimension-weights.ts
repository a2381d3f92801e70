import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { DIMENSIONS, assetHealthScoreDimensions as scores } from '../../schema/health.ts';
import { type SyncError, usageError } from '../core/errors.ts';

/** The weight of each dimension in a total; 1 if it is not listed. */
export type DimensionWeights = ReadonlyMap<string, number>;

const refusal = (what: string): SyncError => usageError(`--dimension-weights${what}`);

/** Reads `completeness=2,freshness=0.5`. @throws SyncError `usage` */
export function parseDimensionWeights(text: string): DimensionWeights {
  const weights = text.split(',').map(parseWeight);
  const duplicate = weights.find(([dimension], i) => weights.findIndex(([other]) => other === dimension) < i);
  if (duplicate !== undefined) throw refusal(` lists ${duplicate[0]} more than once: give it one weight`);
  return new Map(weights);
}

/** Without this check, the weight of a misspelt dimension would have no effect. @throws SyncError `usage` */
export function refuseUnknownDimensions(weights: DimensionWeights, db: BetterSQLite3Database): void {
  const others = [...weights.keys()].filter((dimension) => !DIMENSIONS.some((known) => known === dimension));
  if (others.length === 0) return;
  const mirrored = db.selectDistinct({ dimension: scores.dimension }).from(scores).all();
  const known = [...new Set([...DIMENSIONS, ...mirrored.map(({ dimension }) => dimension)])];
  const unknown = others.find((dimension) => !known.includes(dimension));
  if (unknown !== undefined) throw refusal(`: there is no dimension ${unknown}: choose from ${known.join(', ')}`);
}

function parseWeight(text: string): [dimension: string, weight: number] {
  const [, dimension = '', weight = ''] = /^\s*([^=\s]+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  if (dimension === '')
    throw refusal(` ${text}: write dimension=weight, separated by commas, such as completeness=2,freshness=0.5`);
  return [dimension, Number(weight)];
}
