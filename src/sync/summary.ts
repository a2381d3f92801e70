import type { ListedEnvironment } from '../core/environments.ts';
import type { RecoveryKind } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { CycleRun, RunStatus, StreamRun } from '../core/state-store.ts';

/** How a run left one stream of one environment. */
export interface StreamSummary extends Omit<StreamRun, 'run_id'> {
  /** The environment's name; it need not be unique, `env_id` is. */
  readonly environment: string;
  /** Removals held back, of this run or earlier ones (R14). */
  readonly rows_held: number;
  /** Rows that stand rejected, of this run or earlier ones (R20). */
  readonly rejected_standing: number;
  readonly seconds: number;
}

/** A run in one document: what `sync --json` prints. Names are those of the run log's tables. */
export interface RunSummary {
  readonly run: number | null;
  readonly cycle: number | null;
  readonly status: RunStatus;
  readonly server_time: Instant | null;
  readonly started_at: Instant;
  readonly ended_at: Instant;
  readonly requests: number;
  readonly rows_written: number;
  readonly rows_deleted: number;
  readonly rows_rejected: number;
  readonly error: string | null;
  /** What the caller has to do about `error` (see `RecoveryKind`). */
  readonly recovery: RecoveryKind | null;
  /** Environments that are mirrored but no longer listed. */
  readonly missing: readonly string[];
  /** Streams that the run came to. */
  readonly streams: readonly StreamSummary[];
  /** How many it was stopped before. */
  readonly streams_not_reached: number;
}

export interface RunFacts {
  readonly run: CycleRun | null;
  readonly status: RunStatus;
  readonly error: string | null;
  readonly recovery: RecoveryKind | null;
  readonly serverTime: Instant | null;
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
    server_time: facts.serverTime,
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
