import { getTableName, sql } from 'drizzle-orm';
import { index, type PgTable, uniqueIndex } from 'drizzle-orm/pg-core';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as alertTables from './alerts.ts';
import * as assetTables from './assets.ts';
import * as testTables from './data-tests.ts';
import * as healthTables from './health.ts';
import * as historyTables from './histories.ts';
import * as pageTables from './page.ts';
import { count, inPostgres, keyedTable, text } from './postgres-columns.ts';
import * as syncTables from './sync.ts';

/*
 * The tables in PostgreSQL, for drizzle-kit: SQLite's tables, derived from the same definitions, and those that only
 * PostgreSQL has.
 */

/**
 * A table whose rows are rarely updated: new ones, for which a replica's refresh asks, lie together, mostly at its end.
 * A block range index finds them and is small.
 */
function withTimeIndex(table: SQLiteTable): PgTable {
  const name = `${getTableName(table)}_newest`;
  return inPostgres(table, {
    indexes: (t) => [
      index(name)
        .using('brin', t['mirrored_at'] as never)
        .with({ autosummarize: true }),
    ],
  });
}

export const environments = inPostgres(assetTables.environments);
export const assets = inPostgres(assetTables.assets);
export const columns = inPostgres(assetTables.columns);
export const assetLineage = withTimeIndex(assetTables.assetLineage);
export const columnLineage = withTimeIndex(assetTables.columnLineage);
export const tests = inPostgres(testTables.tests);
export const latestTestExecutions = inPostgres(testTables.latestTestExecutions);
export const testExecutions = withTimeIndex(testTables.testExecutions);
export const assetHealthScores = inPostgres(healthTables.assetHealthScores);
export const assetHealthScoreDimensions = inPostgres(healthTables.assetHealthScoreDimensions);
export const assetHealthScoreHistory = withTimeIndex(healthTables.assetHealthScoreHistory);

/** `row_number` replaces SQLite's `rowid`: of two staged rows with one key, the later one has the higher number. */
const stagedInPostgres = (table: SQLiteTable): PgTable =>
  inPostgres(table, { columns: { row_number: count('row_number').generatedAlwaysAsIdentity() } });

export const assetLineageStaged = stagedInPostgres(assetTables.assetLineageStaged);
export const columnLineageStaged = stagedInPostgres(assetTables.columnLineageStaged);
export const latestTestExecutionsStaged = stagedInPostgres(testTables.latestTestExecutionsStaged);
export const assetHealthScoresStaged = stagedInPostgres(healthTables.assetHealthScoresStaged);
export const assetHealthScoreDimensionsStaged = stagedInPostgres(healthTables.assetHealthScoreDimensionsStaged);

export const mirror = inPostgres(syncTables.mirror);
export const syncRuns = inPostgres(syncTables.syncRuns);
export const syncStreamRuns = inPostgres(syncTables.syncStreamRuns);
export const syncCheckpoints = inPostgres(syncTables.syncCheckpoints);
export const marks = inPostgres(syncTables.marks);
export const heldRemovals = inPostgres(syncTables.heldRemovals);
export const prunedHistory = inPostgres(historyTables.prunedHistory);
export const testReadings = inPostgres(historyTables.testReadings);
export const historyFailures = inPostgres(historyTables.historyFailures);
export const testExecutionGaps = inPostgres(historyTables.testExecutionGaps);
export const listLengths = inPostgres(syncTables.listLengths);
export const verifications = inPostgres(pageTables.verifications);
export const assetHealthMeans = inPostgres(pageTables.assetHealthMeans);
export const staleHealthDays = inPostgres(pageTables.staleHealthDays);

export const alerts = inPostgres(alertTables.alerts);
export const alertDeliveries = inPostgres(alertTables.alertDeliveries);
export const alertRules = inPostgres(alertTables.alertRules);

/** A database that shards by environment requires it in every key. */
export const seenPages = inPostgres(syncTables.seenPages, { key: ['env_id', 'id'] });

/**
 * `row_key` may be a whole payload, which no index entry can hold. So rows are identified by its hash: an upsert says
 * `on conflict (env_id, stream, md5(row_key))`, and a lookup by key uses the index if it also says
 * `md5(row_key) = md5(…)`.
 */
export const rejectedRows = inPostgres(syncTables.rejectedRows, {
  key: [],
  indexes: (t) => [
    uniqueIndex('rejected_rows_by_key').on(t['env_id'] as never, t['stream'] as never, sql`md5("row_key")`),
  ],
});

/** Also the lease of each environment (R26): `lease_epoch` grows with each owner, so an earlier one's commit fails. */
export const mirrorEnvironments = inPostgres(syncTables.mirrorEnvironments, {
  columns: {
    lease_owner: text('lease_owner'),
    lease_epoch: count('lease_epoch').notNull().default(0),
  },
});

/** When the lease of each owner expires unless renewed. `backend` is its connection; null behind a pooler. */
export const leaseOwners = keyedTable(
  'lease_owners',
  { owner: text('owner').notNull(), until_ms: count('until_ms').notNull(), backend: text('backend') },
  ['owner'],
);

/** An unlogged table, which is temporary in SQLite (see `src/destination/sqlite/temporary-tables.ts`). */
function ofRound(name: string, texts: readonly string[], numbers: readonly string[], key: readonly string[]): PgTable {
  const named = [
    ...texts.map((each) => [each, text(each).notNull()] as const),
    ...numbers.map((each) => [each, count(each).notNull()] as const),
  ];
  return keyedTable(name, Object.fromEntries(named), key);
}

const KEY = ['env_id', 'stream', 'key_1', 'key_2'];
const STREAM = ['env_id', 'stream'];

export const seenKeys = ofRound('seen_keys', KEY, ['read_number'], [...KEY, 'read_number']);
export const seenThrough = ofRound('seen_through', STREAM, ['page'], STREAM);
export const missingKeys = ofRound('missing_keys', KEY, [], KEY);
export const missingFound = ofRound('missing_found', STREAM, [], STREAM);
export const stagedKeys = ofRound('staged_keys', KEY, [], KEY);
export const stagedLoaded = ofRound('staged_loaded', STREAM, [], STREAM);
