import type { StateStore } from '../src/core/ports/state-store.ts';
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
import { streamsHoldingBack } from './held-removals.ts';
import { saveListLengths } from './list-lengths.ts';
import type { MirrorClock } from './mirror-clock.ts';
import { pruneLog } from './prune-log.ts';
import { loadPrunedHistory } from './pruned-history.ts';
import { loadKeptQuota, loadQuota, saveQuota } from './quota-store.ts';
import { beginRun, claimMirror, endRun, forgetRun, joinCycle, loadLastTries, recordStreamRun } from './run-log.ts';
import { environmentsWithStaleDays } from './stale-days.ts';
import type { StateRunner } from './state-statements.ts';

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
