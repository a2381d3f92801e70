import { sql } from 'drizzle-orm';
import { index, primaryKey } from 'drizzle-orm/sqlite-core';
import { flag, integer, json, real, text, time } from './column-types.ts';
import {
  assetId,
  envId,
  feedColumns,
  feedKeys,
  kept,
  objectDescription,
  owners,
  projectPath,
  sourceType,
  stagedTable,
  tags,
  testId,
  updatedAt,
} from './common-columns.ts';
import { table } from './table.ts';

const testedColumn = () => text('the name of the column that is tested; NULL for a test of the whole asset');

export const tests = table(
  'tests',
  'A row per test, enabled or disabled. Deleted rows stay.',
  feedColumns('test', {
    name: text('its name'),
    test_type: text('the type of the test, such as `not_null`'),
    definition_type: text('how the test is defined'),
    source_type: sourceType(),
    severity: text('how severe a failure is, such as `ERROR` or `WARNING`'),
    disabled: flag('1 if the test is disabled'),
    asset_id: assetId(),
    column_name: testedColumn(),
    config: json('JSON object with the settings of the test'),
    owners: owners(),
    tags: tags(),
    description: objectDescription(),
    path: projectPath(),
    project: text('the project that defines the test'),
    updated_at: updatedAt(),
  }),
  (t) => [
    ...feedKeys('tests', t),
    index('tests_by_asset').on(t.env_id, t.asset_id),
    index('tests_disabled').on(t.env_id, t.id).where(sql`disabled = 1`),
  ],
);

const execution = (id: string) => ({
  env_id: envId(),
  sub_test_unique_id: text('the stable id of the sub-test').notNull(),
  id: text(id).notNull(),
  test_id: testId().notNull(),
  sub_type: text('the kind of sub-test').notNull(),
  status: text('`PASS`, `WARN`, `FAIL`, `ERROR`, `SKIPPED`, `NO_DATA`; newer values pass through').notNull(),
  failure_count: integer('number of failures; may be NULL'),
  start_time: time('when the run started').notNull(),
  duration_seconds: real('how long the run took').notNull(),
  column_name: testedColumn(),
  quality_dimension: text('the dimension that the test counts for'),
  result_reason: text('why it ended so, such as `ANOMALY_DETECTED`'),
  exception: text('the error text of the run'),
  description: objectDescription(),
  synced_at: time('when the service synced the row'),
  ...kept(),
});

const latestExecution = () => execution('the id of the latest run');

export const latestTestExecutions = table(
  'latest_test_executions',
  'A row per sub-test: its latest run.',
  latestExecution(),
  (t) => [
    primaryKey({ columns: [t.env_id, t.sub_test_unique_id] }),
    index('latest_test_executions_by_test').on(t.env_id, t.test_id),
    index('latest_test_executions_by_synced_at').on(t.env_id, t.synced_at, t.sub_test_unique_id),
  ],
);

export const latestTestExecutionsStaged = stagedTable('latest_test_executions', latestExecution());

/** The verdicts of an incident, as an SQL list. SQLite uses the index of failing runs only for exactly this list. */
export const FAILING = `('WARN', 'FAIL', 'ERROR')`;

/** Every execution that a run ever saw (R17). */
export const testExecutions = table(
  'test_executions',
  'A row per run of a sub-test that the mirror has ever seen: the latest runs of every sync, and whole histories with `--history`. `--keep-executions` prunes old ones (`pruned_history`).',
  execution('the id of the run'),
  (t) => [
    primaryKey({ columns: [t.env_id, t.sub_test_unique_id, t.id] }),
    // Its last columns spare the views a look at each run.
    index('test_executions_by_test').on(t.env_id, t.test_id, t.start_time, t.status),
    index('test_executions_failing')
      .on(t.env_id, t.test_id, t.sub_test_unique_id, t.start_time, t.id, t.status)
      .where(sql.raw(`status IN ${FAILING}`)),
  ],
);
