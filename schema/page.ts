import { primaryKey } from 'drizzle-orm/sqlite-core';
import { day, flag, integer, text, time } from './column-types.ts';
import { envId } from './common-columns.ts';
import { dimensionOrTotal, score } from './health.ts';
import { table } from './table.ts';

/*
 * What the page of `serve` shows and other tables cannot tell, or not fast enough. It is not read from the service, and
 * is in no export.
 */

export const verifications = table(
  'verifications',
  'The last hundred verifications of the whole mirror that came to a result, if the mirror could be written when they ended.',
  {
    id: integer('serial number').primaryKey({ autoIncrement: true }),
    ended_at: time("when it ended, by this machine's clock").notNull(),
    depth: text('what was compared: `count`, `ids` or `rows`', { enum: ['count', 'ids', 'rows'] }).notNull(),
    equal: flag('1 if mirror and source were equal, or were made equal').notNull(),
    difference_count: integer('confirmed differences that were not repaired').notNull(),
  },
);

const utcDay = () => day('UTC day').notNull();

/** To read it from the history takes seconds in a large mirror. */
export const assetHealthMeans = table(
  'asset_health_means',
  'A row per environment, day and dimension (or `total`): the mean of the scores that `health_daily` has for all live assets. ' +
    'A run that changes scores of a day, or deletes or restores an asset with a score, computes the means of that day at its end. ' +
    'It looks up about 200,000 scores per environment, the newest days first, and leaves older days to the next run ' +
    '(see `stale_health_days`).',
  {
    env_id: envId(),
    day: utcDay(),
    dimension: dimensionOrTotal().notNull(),
    score: score().notNull(),
    asset_count: integer('assets with a score on that day').notNull(),
    /** R21. */
    scores_at: time("the mirror's own time of the last commit that the means take into account").notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.day, t.dimension] })],
);

export const staleHealthDays = table(
  'stale_health_days',
  'A row per environment and day whose means in `asset_health_means` are out of date. It is empty after most runs.',
  { env_id: envId(), day: utcDay() },
  (t) => [primaryKey({ columns: [t.env_id, t.day] })],
);
