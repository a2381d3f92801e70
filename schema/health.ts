import { primaryKey } from 'drizzle-orm/sqlite-core';
import { integer, real, text, time } from './column-types.ts';
import { assetId, envId, kept, stagedTable } from './common-columns.ts';
import { table } from './table.ts';

/** The dimensions known today; the service may add more. */
export const DIMENSIONS = ['completeness', 'uniqueness', 'freshness', 'validity', 'accuracy', 'consistency'] as const;

export const score = () => real('the score, 0 to 1');
export const dimensionOrTotal = () => text('a dimension, or `total`');

const bucket = () => ({
  score: score().notNull(),
  test_count: integer('number of test results in the score').notNull(),
  bucket_at: time('start of the hour that the score covers').notNull(),
});

const total = () => ({ env_id: envId(), asset_id: assetId().notNull(), ...bucket(), ...kept() });

const dimension = () => ({
  env_id: envId(),
  asset_id: assetId().notNull(),
  dimension: text(`${DIMENSIONS.map((name) => `\`${name}\``).join(', ')}, or a newer one`).notNull(),
  ...bucket(),
  ...kept(),
});

export const assetHealthScores = table(
  'asset_health_scores',
  'A row per asset with test results in the last 7 days: its current total score.',
  total(),
  (t) => [primaryKey({ columns: [t.env_id, t.asset_id] })],
);

export const assetHealthScoresStaged = stagedTable('asset_health_scores', total());

export const assetHealthScoreDimensions = table(
  'asset_health_score_dimensions',
  'A row per asset and dimension: its current score.',
  dimension(),
  (t) => [primaryKey({ columns: [t.env_id, t.asset_id, t.dimension] })],
);

export const assetHealthScoreDimensionsStaged = stagedTable('asset_health_score_dimensions', dimension());

/** R17. */
export const assetHealthScoreHistory = table(
  'asset_health_score_history',
  'A row per asset, dimension (or `total`) and hour: every score that the mirror has ever seen. After 90 days only the last score of each day stays (`--thin-scores`, `pruned_history`).',
  { ...dimension(), dimension: dimensionOrTotal().notNull() },
  (t) => [primaryKey({ columns: [t.env_id, t.asset_id, t.dimension, t.bucket_at] })],
);
