import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { envId, feedColumns, feedKeys, flag, json, kept, staged, stagedByEnvironment, time } from './common-columns.ts';

export const tests = sqliteTable(
  'tests',
  feedColumns({
    name: text('name'),
    test_type: text('test_type'),
    definition_type: text('definition_type'),
    source_type: text('source_type'),
    severity: text('severity'),
    disabled: flag('disabled'),
    asset_id: text('asset_id'),
    column_name: text('column_name'),
    config: json('config'),
    owners: json('owners'),
    tags: json('tags'),
    description: text('description'),
    path: text('path'),
    project: text('project'),
    updated_at: time('updated_at'),
  }),
  (t) => [
    ...feedKeys('tests', t),
    index('tests_by_asset').on(t.env_id, t.asset_id),
    index('tests_disabled').on(t.env_id, t.id).where(sql`disabled = 1`),
  ],
);

const execution = () => ({
  env_id: envId(),
  sub_test_unique_id: text('sub_test_unique_id').notNull(),
  id: text('id').notNull(),
  test_id: text('test_id').notNull(),
  sub_type: text('sub_type').notNull(),
  status: text('status').notNull(),
  failure_count: integer('failure_count'),
  start_time: time('start_time').notNull(),
  duration_seconds: real('duration_seconds').notNull(),
  column_name: text('column_name'),
  quality_dimension: text('quality_dimension'),
  result_reason: text('result_reason'),
  exception: text('exception'),
  description: text('description'),
  synced_at: time('synced_at'),
  ...kept(),
});

export const latestTestExecutions = sqliteTable('latest_test_executions', execution(), (t) => [
  primaryKey({ columns: [t.env_id, t.sub_test_unique_id] }),
  index('latest_test_executions_by_test').on(t.env_id, t.test_id),
  index('latest_test_executions_by_synced_at').on(t.env_id, t.synced_at, t.sub_test_unique_id),
]);

export const latestTestExecutionsStaged = sqliteTable(
  'latest_test_executions_staged',
  staged(execution()),
  stagedByEnvironment('latest_test_executions_staged'),
);

/** SQLite uses the index of failing runs only in a statement that contains exactly this condition. */
const isFailing = sql.raw(`status IN ('WARN', 'FAIL', 'ERROR')`);

/** Every execution that a run ever saw (R17). */
export const testExecutions = sqliteTable('test_executions', execution(), (t) => [
  primaryKey({ columns: [t.env_id, t.sub_test_unique_id, t.id] }),
  // Its last columns spare the views a look at each run.
  index('test_executions_by_test').on(t.env_id, t.test_id, t.start_time, t.status),
  index('test_executions_failing')
    .on(t.env_id, t.test_id, t.sub_test_unique_id, t.start_time, t.id, t.status)
    .where(isFailing),
]);
