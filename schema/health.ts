import { integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { envId, kept, staged, stagedByEnvironment, time } from './common-columns.ts';

const bucket = () => ({
  score: real('score').notNull(),
  test_count: integer('test_count').notNull(),
  bucket_at: time('bucket_at').notNull(),
});

const total = () => ({ env_id: envId(), asset_id: text('asset_id').notNull(), ...bucket(), ...kept() });

const dimension = () => ({
  env_id: envId(),
  asset_id: text('asset_id').notNull(),
  dimension: text('dimension').notNull(),
  ...bucket(),
  ...kept(),
});

export const assetHealthScores = sqliteTable('asset_health_scores', total(), (t) => [
  primaryKey({ columns: [t.env_id, t.asset_id] }),
]);

export const assetHealthScoresStaged = sqliteTable(
  'asset_health_scores_staged',
  staged(total()),
  stagedByEnvironment('asset_health_scores_staged'),
);

export const assetHealthScoreDimensions = sqliteTable('asset_health_score_dimensions', dimension(), (t) => [
  primaryKey({ columns: [t.env_id, t.asset_id, t.dimension] }),
]);

export const assetHealthScoreDimensionsStaged = sqliteTable(
  'asset_health_score_dimensions_staged',
  staged(dimension()),
  stagedByEnvironment('asset_health_score_dimensions_staged'),
);

/** Every score that a run ever saw: one row per asset, dimension (or `total`) and hourly bucket (R17). */
export const assetHealthScoreHistory = sqliteTable('asset_health_score_history', dimension(), (t) => [
  primaryKey({ columns: [t.env_id, t.asset_id, t.dimension, t.bucket_at] }),
]);
