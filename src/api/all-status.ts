import type { Instant } from '../core/time/instant.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { clock } from '../settings/sync-settings.ts';
import { loadWorkStatus } from '../workers/work-status.ts';
import { readAccountsDatabase } from './accounts-database.ts';

/** Every account of a database and its environments; `status --all --json` prints it. */
export interface AllStatusReport {
  readonly checked_at: Instant;
  readonly accounts: readonly AccountStatus[];
  readonly workers: readonly WorkerStatus[];
}

export interface AccountStatus {
  readonly account: string;
  readonly base_url: string;
  readonly schema: string;
  /** Why the last listing of its environments failed; null if it succeeded. */
  readonly error: string | null;
  readonly environments: readonly AccountEnvironmentStatus[];
}

export interface AccountEnvironmentStatus {
  readonly env_id: string;
  readonly environment: string;
  /** When the last sync without problems started; null if there was none. */
  readonly synced_at: Instant | null;
  readonly age_seconds: number | null;
  /** How the last sync ended, as in `sync_runs`; null if none has ended. */
  readonly status: string | null;
  readonly ended_at: Instant | null;
  /** The problem of the last sync; null if there was none. */
  readonly error: string | null;
  /** When the next sync is due; null if never. */
  readonly next_run: Instant | null;
  /** The worker that is syncing it, as `host process`; null if none is. */
  readonly worker: string | null;
  readonly working_since: Instant | null;
}

export interface WorkerStatus {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: Instant;
  readonly seen_at: Instant;
  readonly concurrency: number;
  readonly running: number;
}

/** How fresh all accounts' mirrors are, the last problems, the next syncs and the workers. @throws SyncError */
export async function statusOfAll(options: MirrorOptions = {}): Promise<AllStatusReport> {
  checkOptions(options);
  return readAccountsDatabase(options, {
    read: loadWorkStatus,
    none: { checked_at: clock(), accounts: [], workers: [] },
  });
}
