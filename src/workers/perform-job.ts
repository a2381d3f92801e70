import { errorMessage, type RecoveryKind, SyncError } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { LEASE_MS } from '../core/schedule/lease.ts';
import type { NextTick } from '../core/schedule/schedule.ts';
import { environmentsError } from '../core/schedule/wanted-environments.ts';
import type { SyncAccount } from './account-store.ts';
import type { WorkDatabase } from './database.ts';
import {
  type ClaimedJob,
  type ClaimedListing,
  type ClaimedSync,
  deferSync,
  endSync,
  type SyncOutcome,
} from './job-queue.ts';
import { deferListing, isStillListing, recordEnvironments, recordListing } from './record-listing.ts';

export interface SyncResult extends SyncOutcome {
  readonly recovery: RecoveryKind | null;
}

/** This host does not have the account's token. Another worker may have it, so nothing is wrong with the account. */
export class TokenNotOnHostError extends SyncError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}

export interface WorkerPorts {
  readonly database: WorkDatabase;
  readonly next: NextTick;
  /** Syncs one environment; an abort stops it cleanly, with recovery `signal`. @throws TokenNotOnHostError */
  sync(account: SyncAccount, environment: ListedEnvironment, signal: AbortSignal): Promise<SyncResult>;
  /** `GET /environments`. @throws TokenNotOnHostError */
  list(account: SyncAccount, signal: AbortSignal): Promise<readonly ListedEnvironment[]>;
  onEvent(event: WorkerEvent): void;
}

/**
 * How a job ended. `locked`: another process held the environment. `not due`: the account was changed or removed
 * meanwhile. `no token`: this host does not have the account's token. `not ended`: the end could not be recorded in the
 * database, so another worker takes the job.
 */
export const JOB_RESULTS = [
  'done',
  'problems',
  'locked',
  'given back',
  'not due',
  'no token',
  'not ended',
  'listed',
  'not listed',
] as const;

export type WorkerEvent =
  /** `environment` is the name of one. */
  | { readonly type: 'begun'; readonly account: string; readonly environment: string }
  | {
      readonly type: 'job';
      readonly account: string;
      /** Its name; null for a listing of the environments. */
      readonly environment: string | null;
      readonly result: (typeof JOB_RESULTS)[number];
      readonly error: string | null;
      readonly seconds: number;
    }
  | { readonly type: 'trouble'; readonly message: string };

type JobEnd = Pick<Extract<WorkerEvent, { type: 'job' }>, 'result' | 'error'>;

/** What a job needs: the ports, the worker that has claimed it, and the signal that stops the worker. */
export interface JobRun extends WorkerPorts {
  readonly worker: string;
  readonly signal: AbortSignal;
}

/** Performs one job completely unless the signal is aborted. @throws any error of the database */
export async function performJob(run: JobRun, job: ClaimedJob): Promise<JobEnd> {
  try {
    return job.environment === null ? await performListing(run, job) : await performSync(run, job);
  } catch (error) {
    if (!(error instanceof TokenNotOnHostError)) throw error;
    const deferral = { worker: run.worker, afterSeconds: NO_TOKEN_SECONDS, error: error.message };
    if (job.environment === null) await deferListing(run.database, job.account.name, deferral);
    else await deferSync(run.database, job, deferral);
    return { result: 'no token', error: error.message };
  }
}

/** Long enough that workers without the token don't keep claiming the job. */
const NO_TOKEN_SECONDS = 60;

async function performSync(run: JobRun, claim: ClaimedSync): Promise<JobEnd> {
  const { database, next, worker } = run;
  const outcome = await syncResult(run, claim);
  // The worker is stopping and releases all its claims.
  if (outcome.recovery === 'signal') return { result: 'given back', error: null };
  if (outcome.recovery === 'locked') {
    // By then a lease whose holder has died is free (R26).
    await deferSync(database, claim, { worker, afterSeconds: LEASE_MS / 1000, error: null });
    return { result: 'locked', error: null };
  }
  await endSync(database, claim, { worker, outcome, next });
  return { result: outcome.status === 'done' ? 'done' : 'problems', error: outcome.error };
}

/** Whatever fails in a sync ends only this sync: the next one is due at its usual time. */
async function syncResult(
  { database, sync, signal }: JobRun,
  { account, environment }: ClaimedSync,
): Promise<SyncResult> {
  try {
    return await sync(account, environment, signal);
  } catch (error) {
    if (error instanceof TokenNotOnHostError) throw error;
    if (signal.aborted) return { status: 'interrupted', error: null, recovery: 'signal' };
    return { status: 'problems', error: errorMessage(database.explain(error)), recovery: 'run' };
  }
}

async function performListing(run: JobRun, { account }: ClaimedListing): Promise<JobEnd> {
  const { database, next, worker, signal } = run;
  const { listed, error: failure } = await listingOf(run, account);
  if (signal.aborted) return { result: 'given back', error: null };
  return database.transaction(async (transaction) => {
    if (!(await isStillListing(transaction, account.name, worker))) return { result: 'not due', error: null };
    const error = listed === null ? failure : await recordEnvironments(transaction, account, { listed, next });
    await recordListing(transaction, account.name, { error, isListed: listed !== null });
    return { result: error === null ? 'listed' : 'not listed', error };
  });
}

async function listingOf({ database, list, signal }: JobRun, account: SyncAccount) {
  try {
    const listed = await list(account, signal);
    const error = environmentsError(listed)?.message ?? null;
    return { listed: error === null ? listed : null, error };
  } catch (error) {
    if (error instanceof TokenNotOnHostError) throw error;
    return { listed: null, error: errorMessage(database.explain(error)) };
  }
}
