import type { AlertDelivery, DeliveryResult, RunAlerts } from '../alerts/delivery.ts';
import type { PrunedHistory } from '../decide/retention.ts';
import type { AccountQuota, KeptQuota } from '../quota/quota.ts';
import type { LastAttempt, LastVisit, UnfinishedWork } from '../schedule/cycle.ts';
import type { EnvironmentChanges } from '../schedule/environments.ts';
import type { Row, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

/** The command of a run. `verify` is a repair: it corrects rows that differ and brings no stream up to date. */
export type RunCommand = 'sync' | 'verify';

export type RunStatus = 'done' | 'problems' | 'refused' | 'stopped' | 'interrupted';

/** How a stream ended in a run. */
type StreamStatus = 'done' | 'failed' | 'denied' | 'unavailable' | 'held' | 'waiting' | 'stopped';

/** How a stream ends with nothing left to do; any other end is a problem of the run (R9). */
export const WELL_ENDED: readonly StreamStatus[] = ['done', 'unavailable'];

/** A run, and the cycle that it belongs to. */
export interface CycleRun {
  readonly id: number;
  /** The run that began this cycle. It is an earlier run only if that one ran out of requests or quota (R6). */
  readonly cycle: number;
}

/** A run that has begun or continued a cycle. */
export interface JoinedRun extends CycleRun {
  /** By environment. */
  readonly lastVisits: ReadonlyMap<string, LastVisit>;
  /** The last run, if it stopped because it ran out of requests or quota; else null. */
  readonly afterRun: number | null;
  /** Whether long lists that failed come first (R6). */
  readonly owesTurn: boolean;
}

/** The streams and environments that a run may read. */
export interface RunReach {
  readonly id: number;
  readonly envIds: readonly string[];
  /** The names of all streams. */
  readonly streams: readonly StreamName[];
}

/** What decides whether a run continues a cycle (R6). */
export interface CycleQuery extends RunReach {
  /** T of the run. */
  readonly now: Instant | null;
  /** The streams that the run reads. */
  readonly selected: readonly StreamName[];
  readonly full: boolean;
  /** Recorded with the run, so a reader knows when scans are due (R13). */
  readonly fullEvery: string;
}

/** What a run did to one stream: a row of the run log, with the names of its table. */
export interface StreamRun {
  readonly run_id: number;
  readonly env_id: string;
  readonly stream: string;
  readonly mode: string;
  readonly reason: string;
  readonly status: StreamStatus;
  readonly requests: number;
  readonly pages: number;
  readonly rows_written: number;
  readonly rows_deleted: number;
  readonly rows_rejected: number;
  readonly rows_late: number;
  readonly started_at: string;
  readonly ended_at: string;
  readonly error: string | null;
}

/** How a run ended, with the names of the run log's table. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly server_time: Instant | null;
  readonly ended_at: Instant;
  readonly requests: number;
  readonly rows_written: number;
  readonly rows_deleted: number;
  readonly rows_rejected: number;
  readonly error: string | null;
  readonly left_over?: UnfinishedWork | null;
}

/** The length of a list that was read from its first page to its last. */
export interface MeasuredList {
  readonly env_id: string;
  readonly stream: StreamName;
  /** The list's own query as JSON, without the limit. */
  readonly variant: string;
  readonly page_size: number;
  readonly pages: number;
  readonly rows: number;
}

/**
 * What a mirror stores besides its rows: its base URL, the run log, the environments, the account's quota and the
 * lengths of lists. Every write is a transaction of its own. Checkpoints are not here, because they are committed
 * together with the rows (R5, see `Destination`).
 */
export interface StateStore {
  /** Binds a new mirror to its base URL. @throws SyncError `usage` if it belongs to another one (R26) */
  claimMirror(baseUrl: string): Promise<void>;
  /** Records that a run has begun, in a cycle of its own. @returns its id */
  beginRun(startedAt: Instant, command: RunCommand): Promise<number>;
  /** Lets a run continue the cycle of the last run that did something in its environments, or begin its own (R6). */
  joinCycle(query: CycleQuery): Promise<JoinedRun>;
  /** How each stream ended before this run if it did not end well, by environment. */
  lastTries(reach: RunReach): Promise<ReadonlyMap<string, readonly LastAttempt[]>>;
  /** Records what a run did to one stream, once the stream has ended; called again if the run returned to it. */
  recordStreamRun(row: StreamRun): Promise<void>;
  /**
   * Records how a run ended, and the lengths of lists that aren't saved yet. If nothing is left to continue, its
   * cycle ends for all environments (R6).
   */
  endRun(run: CycleRun, end: RunEnd, lists?: readonly MeasuredList[]): Promise<void>;
  forgetRun(id: number): Promise<void>;
  pruneLog(before: Instant): Promise<void>;
  environments(): Promise<readonly Row[]>;
  /**
   * Writes the changes that `reconcile` found, as part of this run. With `readIds`, those of other environments are
   * left to a later run if the server can't take them: a node of Citus that is down stops only its own environments.
   */
  saveEnvironments(changes: EnvironmentChanges, runId: number, readIds?: readonly string[]): Promise<void>;
  /** The account's quota as earlier runs knew it; null if unknown. */
  quota(): Promise<Pick<AccountQuota, 'limit' | 'windowSeconds'> | null>;
  /** What the last run left of the quota (R23); null if unknown. */
  keptQuota(): Promise<KeptQuota | null>;
  saveQuota(quota: AccountQuota, notedAt: Instant): Promise<void>;
  /** Saves the lengths of lists that a run has read completely. */
  saveListLengths(lists: readonly MeasuredList[]): Promise<void>;
  /** The streams of an environment with an unfinished round of another cycle (R6). */
  unfinishedStreams(envId: string, cycle: number): Promise<readonly StreamName[]>;
  /** The streams of an environment that have held-back removals (R14). */
  streamsHoldingBack(envId: string): Promise<readonly StreamName[]>;
  /** What has been pruned from the histories of an environment (R17). */
  prunedHistory(envId: string): Promise<readonly PrunedHistory[]>;
  /** Decides the alerts that only the end of a run shows. */
  endRunAlerts(about: RunAlerts): Promise<void>;
  /**
   * The messages of a channel that a run of these environments is to deliver, those of an alert in their order; also
   * those of the whole mirror and of environments that are no longer listed.
   */
  outstandingDeliveries(channel: string, envIds: readonly string[]): Promise<readonly AlertDelivery[]>;
  /** How many messages wait for each channel, of the same environments. */
  waitingDeliveries(envIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Deletes alerts of the same environments that ended long before `now`, unless a message of theirs still waits. */
  pruneAlerts(now: Instant, envIds: readonly string[]): Promise<void>;
  /** Whether a message still waits: meanwhile another run may have delivered it. */
  isOutstanding(delivery: AlertDelivery): Promise<boolean>;
  recordDelivery(delivery: AlertDelivery, result: DeliveryResult): Promise<void>;
  /** Stops the reminders of the open alert whose id begins with `key`. @returns the ids that begin with it */
  snoozeAlerts(key: string, until: Instant): Promise<readonly string[]>;
  /** Whether an environment has days whose mean scores are out of date. */
  hasStaleDays(envId: string): Promise<boolean>;
}
