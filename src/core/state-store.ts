import type { LastTry, LeftOver } from './cycle.ts';
import type { EnvironmentChanges } from './environments.ts';
import type { Instant } from './instant.ts';
import type { AccountQuota, KeptQuota } from './quota.ts';
import type { Row, StreamName } from './stream.ts';

/** What a run is: `verify` is a repair, which writes what was found and brings nothing up to date. */
export type RunCommand = 'sync' | 'verify';

/** How a run ended. */
export type RunStatus = 'done' | 'problems' | 'refused' | 'stopped' | 'interrupted';

/** How a run left a stream. */
type StreamStatus = 'done' | 'failed' | 'denied' | 'unavailable' | 'held' | 'waiting' | 'stopped';

/** A run, and the cycle that it belongs to. */
export interface CycleRun {
  readonly id: number;
  /** The run that began this cycle: an earlier one only when its requests or its quota were spent (R6). */
  readonly cycle: number;
}

/** A run among those before it. */
export interface JoinedRun extends CycleRun {
  /** The last run was stopped with its requests or its quota spent. */
  readonly afterStop: boolean;
}

/** Which streams of which environments a run may come to. */
export interface RunReach {
  readonly id: number;
  readonly envIds: readonly string[];
  /** The names of all streams. */
  readonly streams: readonly StreamName[];
}

/** What decides whether a run carries a cycle on (R6). */
export interface CycleQuery extends RunReach {
  /** T of the run. */
  readonly now: Instant | null;
  readonly full: boolean;
}

/** What a run did to one stream; a row of the run log, by the names of its table. */
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

/** How a run ended, by the names of the run log's table. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly server_time: Instant | null;
  readonly ended_at: Instant;
  readonly requests: number;
  readonly rows_written: number;
  readonly rows_deleted: number;
  readonly rows_rejected: number;
  readonly error: string | null;
  readonly left_over?: LeftOver | null;
}

/** How long a list was, read from its first page to its last. */
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
 * What a mirror keeps beside its rows: whose it is, its run log, its environments, the account's quota and how long lists are.
 * Every write is a transaction of its own. The progress of a stream is not here: it is committed with the rows it speaks of
 * (R5, see `Destination`).
 */
export interface StateStore {
  /** Ties a new mirror to its base URL. @throws SyncError `usage` when it belongs to another (R26) */
  claimMirror(baseUrl: string): Promise<void>;
  /** Notes that a run has begun, in a cycle of its own. @returns its id */
  beginRun(startedAt: Instant, command: RunCommand): Promise<number>;
  /** A run carries on the cycle of the last run that did anything in its environments, or begins its own (R6). */
  joinCycle(query: CycleQuery): Promise<JoinedRun>;
  /** The last try of each stream before a run, where it did not end well; by environment. */
  lastTries(reach: RunReach): Promise<ReadonlyMap<string, readonly LastTry[]>>;
  /** Notes what a run did to one stream, once it has left it; a second time when it came back to it. */
  recordStreamRun(row: StreamRun): Promise<void>;
  /** Notes how a run ended. One that leaves nothing to be carried on ends its cycle for all (R6). */
  endRun(run: CycleRun, end: RunEnd): Promise<void>;
  /** Takes back the note that a run has begun. */
  forgetRun(id: number): Promise<void>;
  /** Drops what the log says of runs that are no longer kept. `now` is T (R1). */
  pruneLog(now: Instant): Promise<void>;
  /** The environments that the mirror holds. */
  environments(): Promise<readonly Row[]>;
  /** Writes what `reconcile` found, as the run of this id. */
  saveEnvironments(environmentChanges: EnvironmentChanges, runId: number): Promise<void>;
  /** What earlier runs were told of the account's quota; null where none was. */
  quota(): Promise<Pick<AccountQuota, 'limit' | 'windowSeconds'> | null>;
  /** What the last run left of the quota (R23); null where none was told. */
  keptQuota(): Promise<KeptQuota | null>;
  saveQuota(accountQuota: AccountQuota, notedAt: Instant): Promise<void>;
  /** Keeps how long lists were that a run has read whole. */
  saveListLengths(lists: readonly MeasuredList[]): Promise<void>;
  /** Streams with a round that another cycle began and that has not ended, by environment (R6). */
  unfinishedStreams(cycle: number): Promise<ReadonlyMap<string, readonly StreamName[]>>;
  /** The streams of every environment with removals that were held back (R14). */
  streamsHoldingBack(): Promise<readonly { readonly envId: string; readonly stream: StreamName }[]>;
}
