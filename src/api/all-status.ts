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
  /** Why its environments could not be listed last; null if they could. */
  readonly error: string | null;
  readonly environments: readonly AccountEnvironmentStatus[];
}

export interface AccountEnvironmentStatus {
  readonly env_id: string;
  readonly environment: string;
  /** When the last sync without problems began; null if there was none. */
  readonly synced_at: Instant | null;
  readonly age_seconds: number | null;
  /** How the last sync ended, as in `sync_runs`; null if none has. */
  readonly status: string | null;
  readonly ended_at: Instant | null;
  /** What was wrong with it; null if nothing was. */
  readonly error: string | null;
  /** When it is due; null if never. */
  readonly next_run: Instant | null;
  /** Who syncs it now, as `host process`; null if nobody does. */
  readonly worker: string | null;
  /** Since when. */
  readonly working_since: Instant | null;
}

export interface WorkerStatus {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: Instant;
  readonly seen_at: Instant;
  readonly concurrency: number;
  /** How many syncs it has at hand. */
  readonly running: number;
}

/** What every account's mirror is as of, what went wrong last, what comes next and who does it. @throws SyncError */
export async function statusOfAll(options: MirrorOptions = {}): Promise<AllStatusReport> {
  checkOptions(options);
  return readAccountsDatabase(options, {
    read: loadWorkStatus,
    none: { checked_at: clock(), accounts: [], workers: [] },
  });
}
