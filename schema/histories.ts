import { primaryKey } from 'drizzle-orm/sqlite-core';
import { integer, text, time } from './column-types.ts';
import { envId, testId } from './common-columns.ts';
import { pageLimit } from './sync.ts';
import { table } from './table.ts';

/** `--history` (R22). */
export const testReadings = table(
  'test_readings',
  'Tests whose history was read, and when.',
  {
    env_id: envId(),
    test_id: testId().notNull(),
    read_at: time('server time at which the last finished reading of the history began').notNull(),
    /** Latest executions that were mirrored later are news. */
    mirrored_at: time("the mirror's own time then").notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

/** They are read again after all others (R22). */
export const historyFailures = table(
  'history_failures',
  'Tests whose history could not be read.',
  {
    env_id: envId(),
    test_id: testId().notNull(),
    run_id: integer('the run in which the history could not be read; NULL once it was read'),
    /** R24. */
    page_limit: pageLimit(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

export const testExecutionGaps = table(
  'test_execution_gaps',
  "A row per stretch of a test's history that was never read and that the source no longer shows.",
  {
    env_id: envId(),
    test_id: testId().notNull(),
    gap_from: time('start of the stretch').notNull(),
    gap_to: time('end of the stretch').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id, t.gap_from] })],
);

/** R17. */
export const prunedHistory = table(
  'pruned_history',
  'A row per environment, history and action: what the retention options have removed from a history.',
  {
    env_id: envId(),
    history: text('`test_executions` or `asset_health_score_history`').notNull(),
    action: text('`delete`, or `thin`: only the last score of each day stays', { enum: ['delete', 'thin'] }).notNull(),
    complete_before: time('rows before this time are pruned; NULL until the first pruning has ended'),
    pruning_before: time('the same of the pruning that the next run continues; NULL if none is unfinished'),
    pruned_through: text('the last asset or test that it has pruned').notNull(),
    row_count: integer('rows removed so far').notNull(),
    /** R21. */
    mirrored_at: time("the mirror's own time of the last removal").notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.history, t.action] })],
);
