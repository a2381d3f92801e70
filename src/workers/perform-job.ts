import { type RecoveryKind, SyncError } from '../core/errors.ts';
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

/** How a sync of one environment ended, from its summary. */
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

type JobResult = (typeof JOB_RESULTS)[number];

export type WorkerEvent =
  /** `environment` is the name of one. */
  | { readonly type: 'begun'; readonly account: string; readonly environment: string }
  | {
      readonly type: 'job';
      readonly account: string;
      /** Its name; null for a listing of the environments. */
      readonly environment: string | null;
      readonly result: JobResult;
      readonly error: string | null;
      readonly seconds: number;
    }
  | { readonly type: 'trouble'; readonly message: string };

interface JobEnd {
  readonly result: JobResult;
  readonly error: string | null;
}

/** Performs one job completely unless the signal is aborted. @throws any error of the database */
export async function performJob(
  ports: WorkerPorts,
  job: ClaimedJob,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<JobEnd> {
  try {
    return job.environment === null
      ? await performListing(ports, job, { worker, signal })
      : await performSync(ports, job, { worker, signal });
  } catch (error) {
    if (!(error instanceof TokenNotOnHostError)) throw error;
    const deferral = { worker, afterSeconds: NO_TOKEN_SECONDS, error: error.message };
    if (job.environment === null) await deferListing(ports.database, job.account.name, deferral);
    else await deferSync(ports.database, job, deferral);
    return { result: 'no token', error: error.message };
  }
}

/** Long enough that workers without the token don't keep claiming the job. */
const NO_TOKEN_SECONDS = 60;

async function performSync(
  ports: WorkerPorts,
  claim: ClaimedSync,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<JobEnd> {
  const { database, next } = ports;
  const outcome = await syncResult(ports, claim, signal);
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
  ports: WorkerPorts,
  { account, environment }: ClaimedSync,
  signal: AbortSignal,
): Promise<SyncResult> {
  try {
    return await ports.sync(account, environment, signal);
  } catch (error) {
    if (error instanceof TokenNotOnHostError) throw error;
    if (signal.aborted) return { status: 'interrupted', error: null, recovery: 'signal' };
    return { status: 'problems', error: messageOf(ports.database, error), recovery: 'run' };
  }
}

async function performListing(
  ports: WorkerPorts,
  { account }: ClaimedListing,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<JobEnd> {
  const { database, next } = ports;
  const { listed, error: failure } = await listingOf(ports, account, signal);
  if (signal.aborted) return { result: 'given back', error: null };
  return database.transaction(async (transaction) => {
    if (!(await isStillListing(transaction, account.name, worker))) return { result: 'not due', error: null };
    const error = listed === null ? failure : await recordEnvironments(transaction, account, { listed, next });
    await recordListing(transaction, account.name, { error, isListed: listed !== null });
    return { result: error === null ? 'listed' : 'not listed', error };
  });
}

async function listingOf(ports: WorkerPorts, account: SyncAccount, signal: AbortSignal) {
  try {
    const listed = await ports.list(account, signal);
    const error = environmentsError(listed)?.message ?? null;
    return { listed: error === null ? listed : null, error };
  } catch (error) {
    if (error instanceof TokenNotOnHostError) throw error;
    return { listed: null, error: messageOf(ports.database, error) };
  }
}

/** The message of an error for users; database errors are explained. */
export function messageOf({ explain }: WorkDatabase, thrown: unknown): string {
  const error = explain(thrown);
  return error instanceof Error ? error.message : String(error);
}
