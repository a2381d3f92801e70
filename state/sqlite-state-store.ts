import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import type { Instant } from '../src/core/instant.ts';
import type { StateStore } from '../src/core/state-store.ts';
import { loadUnfinished } from './checkpoint-store.ts';
import { loadEnvironments, saveEnvironments } from './environment-store.ts';
import { streamsHoldingBack } from './held-removals.ts';
import { saveListLengths } from './list-lengths.ts';
import { pruneLog } from './prune-log.ts';
import { loadKeptQuota, loadQuota, saveQuota } from './quota-store.ts';
import { beginRun, claimMirror, endRun, forgetRun, joinCycle, loadLastTries, recordStreamRun } from './run-log.ts';

/** The state of an SQLite mirror. `clock` is the machine's: it stamps what is written. */
export function createStateStore(db: BetterSQLite3Database, clock: () => Instant): StateStore {
  return {
    claimMirror: async (baseUrl) => claimMirror(db, baseUrl),
    beginRun: async (startedAt, command) => beginRun(db, startedAt, command),
    joinCycle: async (query) => joinCycle(db, query),
    lastTries: async (reach) => loadLastTries(db, reach),
    recordStreamRun: async (row) => recordStreamRun(db, row),
    endRun: async (run, end) => endRun(db, { ...run, clock }, end),
    forgetRun: async (id) => forgetRun(db, id),
    pruneLog: async (now) => pruneLog(db, now),
    environments: async () => loadEnvironments(db),
    saveEnvironments: async (reconciled, id) => saveEnvironments(db, reconciled, { id, clock }),
    quota: async () => loadQuota(db),
    keptQuota: async () => loadKeptQuota(db),
    saveQuota: async (quota, notedAt) => saveQuota(db, quota, notedAt),
    saveListLengths: async (lists) => saveListLengths(db, lists),
    unfinishedStreams: async (cycle) => loadUnfinished(db, cycle),
    streamsHoldingBack: async () => streamsHoldingBack(db),
  };
}
