import { listLengths as table } from '../schema/sync.ts';
import { SyncError } from '../src/core/errors.ts';
import type { MeasuredList, StateStore } from '../src/core/ports/state-store.ts';
import { type EnvironmentChanges, splitChanges } from '../src/core/schedule/environments.ts';
import type { StreamName } from '../src/core/stream.ts';
import * as alerts from './alerts/alert-store.ts';
import { endRunAlerts } from './alerts/update-alerts.ts';
import { loadUnfinished } from './checkpoint-store.ts';
import * as environments from './environment-store.ts';
import type { MirrorClock } from './mirror-clock.ts';
import { loadPrunedHistory } from './pruned-history.ts';
import { loadKeptQuota, loadQuota, saveQuota } from './quota-store.ts';
import * as runLog from './run-log.ts';
import { type StateRunner, type StateStatements, upsertInto } from './state-statements.ts';

interface StateOwner {
  /** Its name in messages. */
  readonly name: string;
  readonly clock: MirrorClock;
  /** Makes the key of a new mirror and the nonce of each run; by default, at random. */
  readonly randomHex?: (() => string) | undefined;
}

export function createStateStore({ read, write }: StateRunner, { name, clock, randomHex }: StateOwner): StateStore {
  return {
    claimMirror: (baseUrl) => write(() => runLog.claimMirror(baseUrl, name, randomHex?.())),
    beginRun: (startedAt, command) => write(() => runLog.beginRun(startedAt, command, randomHex?.())),
    joinCycle: (query) => write(() => runLog.joinCycle(query)),
    lastTries: (reach) => read(() => runLog.loadLastTries(reach)),
    async recordStreamRun(row) {
      if (!(await read(() => runLog.isUneventful(row)))) await write(() => runLog.recordStreamRun(row), [row.env_id]);
    },
    endRun: (run, end, lists = []) =>
      write(function* () {
        yield* runLog.endRun(run, end, clock);
        yield* saveListLengths(lists);
      }),
    forgetRun: (id) => write(() => runLog.forgetRun(id), clock.moved() ?? []),
    pruneLog: (before) => write(() => runLog.pruneLog(before)),
    prunedHistory: (envId) => read(() => loadPrunedHistory(envId)),
    ...environmentStore({ read, write }, clock),
    quota: () => read(loadQuota),
    keptQuota: () => read(loadKeptQuota),
    saveQuota: (quota, notedAt) => write(() => saveQuota(quota, notedAt)),
    saveListLengths: (lists) =>
      write(
        () => saveListLengths(lists),
        lists.map(({ env_id }) => env_id),
      ),
    unfinishedStreams: (envId, cycle) => read(() => loadUnfinished(envId, cycle)),
    streamsHoldingBack: (envId) => read(() => streamsHoldingBack(envId)),
    endRunAlerts: (about) => write(() => endRunAlerts(about, clock), about.envIds),
    outstandingDeliveries: (channel, envIds) => read(() => alerts.loadOutstanding(channel, envIds)),
    waitingDeliveries: (envIds) => read(() => alerts.countWaiting(envIds)),
    pruneAlerts: (now, envIds) => write(() => alerts.pruneAlerts(now, envIds), envIds),
    isOutstanding: (delivery) => read(() => alerts.isOutstanding(delivery)),
    recordDelivery: (delivery, result) => write(() => alerts.recordDelivery(delivery, result)),
    snoozeAlerts: (key, until) => write(() => alerts.snoozeAlerts(key, until)),
    hasStaleDays: (envId) => read(() => hasStaleDays(envId)),
  };
}

function environmentStore(
  { read, write }: StateRunner,
  clock: MirrorClock,
): Pick<StateStore, 'environments' | 'saveEnvironments'> {
  const save = (changes: EnvironmentChanges) => write(() => environments.saveEnvironments(changes, clock));
  return {
    environments: () => read(environments.loadEnvironments),
    async saveEnvironments(changes, id, readIds) {
      const { own, others } = splitChanges(changes, readIds);
      const seenAt = await save(own);
      if (others.changed.length > 0) await save(others).catch(leaveToLaterRun);
      // Rejected rows belong to no environment, so a node of Citus that is down may have them. It stops no other.
      if (changes.rejected.length > 0 || (await read(environments.hasRejectedEnvironments).catch(() => false)))
        await write(() => environments.saveRejectedEnvironments(changes.rejected, id, seenAt));
    },
  };
}

function leaveToLaterRun(error: unknown): void {
  if (!(error instanceof SyncError && error.recovery === 'run')) throw error;
}

function* saveListLengths(lengths: readonly MeasuredList[]): StateStatements<void> {
  for (const length of lengths) yield upsertInto(table, length, [table.env_id, table.stream, table.variant]);
}

function* hasStaleDays(env: string): StateStatements<boolean> {
  const { rows } = yield { sql: 'select 1 from stale_health_days where env_id = @env limit 1', values: { env } };
  return rows.length > 0;
}

/** The streams of an environment that have held-back removals (R14). */
function* streamsHoldingBack(env: string): StateStatements<StreamName[]> {
  const { rows } = yield { sql: 'select distinct stream from held_removals where env_id = @env', values: { env } };
  return rows.map(({ stream }) => stream as StreamName);
}
