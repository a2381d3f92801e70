import { integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { dayColumn, envId, flag, time } from './common-columns.ts';

/*
 * What the page of `serve` shows and no other table can tell, or not soon enough. It is not read from the service, and no export has it.
 */

/** The last verifications that compared every environment and collection and came to a result. */
export const verifications = sqliteTable('verifications', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  /** When it ended, by the machine's clock. */
  ended_at: time('ended_at').notNull(),
  depth: text('depth', { enum: ['count', 'ids', 'rows'] }).notNull(),
  /** 1 if mirror and source were equal, or were made equal. */
  equal: flag('equal').notNull(),
  /** Confirmed differences, those that a repair has ended left out. */
  difference_count: integer('difference_count').notNull(),
});

/**
 * The mean score of all live assets for each day: that of the day's last hourly bucket, as `health_daily` has it for
 * one asset. To read it from the history takes seconds in a large mirror.
 */
export const assetHealthMeans = sqliteTable(
  'asset_health_means',
  {
    env_id: envId(),
    /** A UTC day such as `2026-11-20`. */
    day: dayColumn('day').notNull(),
    /** A dimension, or `total`. */
    dimension: text('dimension').notNull(),
    score: real('score').notNull(),
    /** The assets that had a score on the day. */
    asset_count: integer('asset_count').notNull(),
    /** The mirror's time of the last commit that it takes into account (R21). */
    scores_at: time('scores_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.day, t.dimension] })],
);

/**
 * The days whose means are out of date, because a score of the day was written, or an asset with one was deleted or
 * restored.
 */
export const staleHealthDays = sqliteTable(
  'stale_health_days',
  { env_id: envId(), day: dayColumn('day').notNull() },
  (t) => [primaryKey({ columns: [t.env_id, t.day] })],
);
