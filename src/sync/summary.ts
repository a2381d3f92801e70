import type { RecoveryKind } from '../core/errors.ts';
import type { CycleRun, RunStatus, StreamRun } from '../core/ports/state-store.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { Instant } from '../core/time/instant.ts';
import { type ServerTimes, spreadSeconds } from '../core/time/server-times.ts';

/** How one stream of one environment ended in a run. */
export interface StreamSummary extends Omit<StreamRun, 'run_id'> {
  /** The environment's name. It may not be unique; `env_id` is. */
  readonly environment: string;
  /** How many removals are held back, from this run or earlier ones (R14). */
  readonly rows_held: number;
  /** How many rows are rejected, from this run or earlier ones (R20). */
  readonly rejected_standing: number;
  readonly seconds: number;
}

/** A run as one document, which `sync --json` prints. Names follow the run log's tables. */
export interface RunSummary {
  readonly run: number | null;
  readonly cycle: number | null;
  readonly status: RunStatus;
  readonly server_time: Instant | null;
  /**
   * How far apart the server times of its responses are, in seconds. More than an hour means that some clock along the
   * way is wrong (R1).
   */
  readonly clock_spread_seconds: number;
  readonly started_at: Instant;
  readonly ended_at: Instant;
  readonly requests: number;
  readonly rows_written: number;
  readonly rows_deleted: number;
  readonly rows_rejected: number;
  readonly error: string | null;
  /** What `error` requires of the caller, see `RecoveryKind`. */
  readonly recovery: RecoveryKind | null;
  /** Environments that are mirrored but no longer listed. */
  readonly missing: readonly string[];
  /** The streams that the run reached. */
  readonly streams: readonly StreamSummary[];
  /** How many streams it did not reach. */
  readonly streams_not_reached: number;
}

export interface RunFacts {
  readonly run: CycleRun | null;
  readonly status: RunStatus;
  readonly error: string | null;
  readonly recovery: RecoveryKind | null;
  readonly times: ServerTimes;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly requests: number;
  readonly streams: readonly StreamSummary[];
  readonly notReached: number;
  readonly missing: readonly ListedEnvironment[];
}

export function summarize(facts: RunFacts): RunSummary {
  const total = (field: 'rows_written' | 'rows_deleted' | 'rows_rejected'): number =>
    facts.streams.reduce((sum, stream) => sum + stream[field], 0);
  return {
    run: facts.run?.id ?? null,
    cycle: facts.run?.cycle ?? null,
    status: facts.status,
    server_time: facts.times.serverTime,
    clock_spread_seconds: spreadSeconds(facts.times),
    started_at: facts.startedAt,
    ended_at: facts.endedAt,
    requests: facts.requests,
    rows_written: total('rows_written'),
    rows_deleted: total('rows_deleted'),
    rows_rejected: total('rows_rejected'),
    error: facts.error,
    recovery: facts.recovery,
    missing: facts.missing.map((environment) => environment.name),
    streams: facts.streams,
    streams_not_reached: facts.notReached,
  };
}
