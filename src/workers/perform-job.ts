import type { RecoveryKind } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { NextTick } from '../core/schedule/schedule.ts';
import { findAccount, type SyncAccount } from './account-store.ts';
import type { WorkDatabase } from './database.ts';
import { type BegunSync, beginSync, endSync, type GivenBack, giveBackWork, noteLocked } from './due-list.ts';
import type { JobQueue, TakenJob } from './job-queue.ts';
import { noteListed, noteListing } from './note-listed.ts';
import { TokenNotHereError } from './token-not-here.ts';

/** How a sync of one environment ended, as its summary says it. */
export interface SyncResult {
  readonly status: string;
  readonly error: string | null;
  readonly recovery: RecoveryKind | null;
}

/** What a worker does its jobs with. */
export interface WorkerPorts {
  readonly database: WorkDatabase;
  readonly queue: JobQueue;
  readonly next: NextTick;
  /**
   * Syncs one environment. When the signal is aborted it stops cleanly, and its recovery is `signal`.
   * @throws TokenNotHereError if the account's token is not on this host
   */
  sync(account: SyncAccount, environment: ListedEnvironment, signal: AbortSignal): Promise<SyncResult>;
  /** `GET /environments`. @throws TokenNotHereError */
  list(account: SyncAccount, signal: AbortSignal): Promise<readonly ListedEnvironment[]>;
  onEvent(event: WorkerEvent): void;
}

/**
 * How a job ended; `locked`: another process held the environment; `not due`: somebody else has done it; `no token`: this host does not have the
 * account's token; `not ended`: the database did not take the end of it, so that it goes to another worker.
 */
type JobResult =
  | 'done'
  | 'problems'
  | 'locked'
  | 'given back'
  | 'not due'
  | 'no token'
  | 'not ended'
  | 'listed'
  | 'not listed';

/** What a worker reports. */
export type WorkerEvent =
  | { readonly type: 'begun'; readonly account: string; readonly environment: string | null }
  | {
      readonly type: 'job';
      readonly account: string;
      /** Null for a listing of the environments. */
      readonly environment: string | null;
      readonly result: JobResult;
      readonly error: string | null;
      readonly seconds: number;
    }
  | { readonly type: 'trouble'; readonly message: string };

export interface JobEnd {
  readonly environment: string | null;
  readonly result: JobResult;
  readonly error: string | null;
}

/** Does one job to its end, or gives it back when the signal is aborted. @throws what the database throws */
export async function performJob(
  ports: WorkerPorts,
  job: TakenJob,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<JobEnd> {
  const { data: work } = job;
  if ('list' in work) return performListing(ports, job, { account: work.list, worker, signal });
  const begunSync = await beginSync(ports.database, work, worker);
  if (begunSync === null) {
    await ports.database.transaction((transaction) => ports.queue.end(transaction, job));
    return { environment: work.environment, result: 'not due', error: null };
  }
  const ended = await syncResult(ports, begunSync, signal);
  const { name: environment } = begunSync.environment;
  if (ended instanceof TokenNotHereError)
    return giveToOthers(ports, job, { worker, environment, error: ended.message });
  if (ended.recovery === 'signal') {
    await giveBack(ports, job, { worker, ...AT_ONCE });
    return { environment, result: 'given back', error: null };
  }
  const isLocked = ended.recovery === 'locked';
  await ports.database.transaction(async (transaction) => {
    await ports.queue.end(transaction, job);
    if (isLocked) await noteLocked(transaction, begunSync, worker);
    else await endSync(transaction, begunSync, { worker, outcome: ended, next: ports.next });
  });
  if (isLocked) return { environment, result: 'locked', error: null };
  return { environment, result: ended.status === 'done' ? 'done' : 'problems', error: ended.error };
}

/** Whatever goes wrong in a sync ends this sync alone: the next one is due at its time, as after any run. */
async function syncResult(
  ports: WorkerPorts,
  { account, environment }: BegunSync,
  signal: AbortSignal,
): Promise<SyncResult | TokenNotHereError> {
  try {
    return await ports.sync(account, environment, signal);
  } catch (error) {
    if (error instanceof TokenNotHereError) return error;
    if (signal.aborted) return { status: 'interrupted', error: null, recovery: 'signal' };
    return { status: 'problems', error: messageOf(ports.database, error), recovery: 'run' };
  }
}

/** Ends the job, and leaves its work in the list of what is due, where the next worker that looks finds it. */
export async function giveBack(
  { database, queue }: WorkerPorts,
  job: TakenJob,
  givenBack: GivenBack & { worker: string },
): Promise<void> {
  await database.transaction(async (transaction) => {
    await queue.end(transaction, job);
    await giveBackWork(transaction, job.data, givenBack);
  });
}

export const AT_ONCE: GivenBack = { afterSeconds: 0, error: null };

/** Long enough that a worker without the token does not meet the job again and again. */
const TO_OTHERS_SECONDS = 60;

/** What this host has no token for stays due, for a worker that has it. */
async function giveToOthers(
  ports: WorkerPorts,
  job: TakenJob,
  { worker, environment, error }: { worker: string; environment: string | null; error: string },
): Promise<JobEnd> {
  await giveBack(ports, job, { worker, afterSeconds: TO_OTHERS_SECONDS, error });
  return { environment, result: 'no token', error };
}

async function performListing(
  ports: WorkerPorts,
  job: TakenJob,
  { account: name, worker, signal }: { account: string; worker: string; signal: AbortSignal },
): Promise<JobEnd> {
  const account = await findAccount(ports.database, name);
  const listing = account === null ? null : await listingOf(ports, account, signal);
  if (listing instanceof TokenNotHereError)
    return giveToOthers(ports, job, { worker, environment: null, error: listing.message });
  if (signal.aborted) {
    await giveBack(ports, job, { worker, ...AT_ONCE });
    return { environment: null, result: 'given back', error: null };
  }
  const { next } = ports;
  return ports.database.transaction(async (transaction) => {
    await ports.queue.end(transaction, job);
    if (account === null || listing === null) return { environment: null, result: 'not due', error: null };
    const { listed } = listing;
    const error = listed === null ? listing.error : await noteListed(transaction, account, { listed, next });
    await noteListing(transaction, name, { error, isListed: listed !== null });
    return { environment: null, result: error === null ? 'listed' : 'not listed', error };
  });
}

async function listingOf(ports: WorkerPorts, account: SyncAccount, signal: AbortSignal) {
  try {
    return { listed: await ports.list(account, signal), error: null };
  } catch (error) {
    if (error instanceof TokenNotHereError) return error;
    return { listed: null, error: messageOf(ports.database, error) };
  }
}

/** What an error says to a user: one of the database in the words of the program. */
export function messageOf({ explain }: WorkDatabase, thrown: unknown): string {
  const error = explain(thrown);
  return error instanceof Error ? error.message : String(error);
}
