import type { RecoveryKind } from '../core/errors.ts';
import type { RunStatus, StreamRun } from '../core/ports/state-store.ts';
import type { Instant } from '../core/time/instant.ts';

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
