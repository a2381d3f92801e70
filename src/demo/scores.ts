import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { HOUR_MS } from '../core/time/duration.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { SampleScene } from './insert.ts';
import type { RunRow } from './runs.ts';

type TotalRow = typeof assetHealthScores.$inferInsert;
type DimensionRow = typeof assetHealthScoreDimensions.$inferInsert;

interface AssetRuns {
  readonly env_id: string;
  readonly asset_id: string;
  readonly runs: readonly RunRow[];
}

const POINTS: Readonly<Record<string, number>> = { PASS: 1, WARN: 0.5, FAIL: 0 };
const WEIGHTS: Readonly<Record<string, number>> = { freshness: 2, completeness: 1.5 };

/** The scores of the hour of `atMs`: runs make up a dimension's score, weighted dimensions make up the total. */
export function scoresOf(assets: readonly AssetRuns[], atMs: number, nowMs: number) {
  const stamp = { bucket_at: instantOfMs(Math.floor(atMs / HOUR_MS) * HOUR_MS), mirrored_at: instantOfMs(nowMs) };
  const dimensions = assets.map((asset) => dimensionsOf(asset, stamp));
  return { totals: dimensions.filter((of) => of.length > 0).map(totalOf), dimensions: dimensions.flat() };
}

/** Replaces the scores of these assets with those of the current hour. */
export function rescore({ connection, insert, env, nowMs }: SampleScene, assetIds: readonly string[]): void {
  const latest = connection.prepare(`select l.* from tests t
    join latest_test_executions l on l.env_id = t.env_id and l.test_id = t.id
    where t.env_id = ? and t.asset_id = ? and t.disabled = 0 and t.deleted_at is null order by l.sub_test_unique_id`);
  const assets = assetIds.map((asset_id) => ({ env_id: env, asset_id, runs: latest.all(env, asset_id) as RunRow[] }));
  for (const table of ['asset_health_scores', 'asset_health_score_dimensions']) {
    const drop = connection.prepare(`delete from ${table} where env_id = ? and asset_id = ?`);
    for (const id of assetIds) drop.run(env, id);
  }
  const { totals, dimensions } = scoresOf(assets, nowMs, nowMs);
  insert(assetHealthScores, totals);
  insert(assetHealthScoreDimensions, dimensions);
}

function dimensionsOf(
  { env_id, asset_id, runs }: AssetRuns,
  stamp: Pick<TotalRow, 'bucket_at' | 'mirrored_at'>,
): DimensionRow[] {
  const counted = runs.filter(
    ({ status, quality_dimension: dimension }) => POINTS[status] !== undefined && dimension !== null,
  );
  return [...Map.groupBy(counted, (run) => run.quality_dimension as string)].map(([dimension, group]) => {
    const points = group.reduce((sum, run) => sum + (POINTS[run.status] ?? 0), 0);
    return { env_id, asset_id, dimension, score: rounded(points / group.length), test_count: group.length, ...stamp };
  });
}

function totalOf(dimensions: readonly DimensionRow[]): TotalRow {
  const { env_id, asset_id, bucket_at, mirrored_at } = dimensions[0] as DimensionRow;
  const weight = ({ dimension }: DimensionRow) => WEIGHTS[dimension] ?? 1;
  const weights = dimensions.reduce((sum, row) => sum + weight(row), 0);
  const score = dimensions.reduce((sum, row) => sum + weight(row) * row.score, 0) / weights;
  const test_count = dimensions.reduce((sum, row) => sum + row.test_count, 0);
  return { env_id, asset_id, score: rounded(score), test_count, bucket_at, mirrored_at };
}

const rounded = (score: number) => Math.round(score * 10_000) / 10_000;
