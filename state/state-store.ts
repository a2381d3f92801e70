import { staleHealthDays } from '../schema/page.ts';
import { heldRemovals, listLengths as table } from '../schema/sync.ts';
import type { MeasuredList, StateStore } from '../src/core/ports/state-store.ts';
import type { StreamName } from '../src/core/stream.ts';
import {
  countWaiting,
  isOutstanding,
  loadOutstanding,
  pruneAlerts,
  recordDelivery,
  snoozeAlerts,
} from './alerts/alert-store.ts';
import { endRunAlerts } from './alerts/update-alerts.ts';
import { loadUnfinished } from './checkpoint-store.ts';
import { loadEnvironments, saveEnvironments } from './environment-store.ts';
import type { MirrorClock } from './mirror-clock.ts';
import { pruneLog } from './prune-log.ts';
import { loadPrunedHistory } from './pruned-history.ts';
import { loadKeptQuota, loadQuota, saveQuota } from './quota-store.ts';
import { beginRun, claimMirror, endRun, forgetRun, joinCycle, loadLastTries, recordStreamRun } from './run-log.ts';
import { all, queryBuilder, type StateRunner, type StateStatements, upsertInto } from './state-statements.ts';

interface StateOwner {
  /** Its name in messages. */
  readonly name: string;
  readonly clock: MirrorClock;
  /** For the key of a new mirror, and the nonce of each run. */
  readonly randomHex: () => string;
}

export function createStateStore({ read, write }: StateRunner, { name, clock, randomHex }: StateOwner): StateStore {
  return {
    claimMirror: (baseUrl) => write(() => claimMirror(baseUrl, name, randomHex())),
    beginRun: (startedAt, command) => write(() => beginRun(startedAt, command, randomHex())),
    joinCycle: (query) => write(() => joinCycle(query)),
    lastTries: (reach) => read(() => loadLastTries(reach)),
    recordStreamRun: (row) => write(() => recordStreamRun(row), [row.env_id]),
    endRun: (run, end) => write(() => endRun(run, end, clock)),
    forgetRun: (id) => write(() => forgetRun(id), clock.moved() ?? []),
    pruneLog: (before) => write(() => pruneLog(before)),
    prunedHistory: () => read(loadPrunedHistory),
    environments: () => read(loadEnvironments),
    saveEnvironments: (environmentChanges, id) => write(() => saveEnvironments(environmentChanges, id, clock)),
    quota: () => read(loadQuota),
    keptQuota: () => read(loadKeptQuota),
    saveQuota: (quota, notedAt) => write(() => saveQuota(quota, notedAt)),
    saveListLengths: (lists) =>
      write(
        () => saveListLengths(lists),
        lists.map(({ env_id }) => env_id),
      ),
    unfinishedStreams: (cycle) => read(() => loadUnfinished(cycle)),
    streamsHoldingBack: () => read(streamsHoldingBack),
    endRunAlerts: (about) => write(() => endRunAlerts(about, clock), about.envIds),
    outstandingDeliveries: (channel, envIds) => read(() => loadOutstanding(channel, envIds)),
    waitingDeliveries: (envIds) => read(() => countWaiting(envIds)),
    pruneAlerts: (now, envIds) => write(() => pruneAlerts(now, envIds), envIds),
    isOutstanding: (delivery) => read(() => isOutstanding(delivery)),
    recordDelivery: (delivery, result) => write(() => recordDelivery(delivery, result)),
    snoozeAlerts: (key, until) => write(() => snoozeAlerts(key, until)),
    environmentsWithStaleDays: () => read(environmentsWithStaleDays),
  };
}

/** Saves the lengths of lists that a run has read completely (see the table). */
function* saveListLengths(lengths: readonly MeasuredList[]): StateStatements<void> {
  for (const length of lengths) yield upsertInto(table, length, [table.env_id, table.stream, table.variant]);
}

/** The environments with days whose mean scores are out of date. */
function* environmentsWithStaleDays(): StateStatements<string[]> {
  const { env_id } = staleHealthDays;
  const stale = yield* all(queryBuilder.selectDistinct({ env_id }).from(staleHealthDays).orderBy(env_id));
  return stale.map((each) => each.env_id);
}

/** The streams of every environment that have held-back removals (R14). */
function* streamsHoldingBack(): StateStatements<{ envId: string; stream: StreamName }[]> {
  const { env_id, stream } = heldRemovals;
  const held = yield* all(queryBuilder.selectDistinct({ env_id, stream }).from(heldRemovals).orderBy(env_id, stream));
  return held.map((each) => ({ envId: each.env_id, stream: each.stream as StreamName }));
}
