import { setTimeout as sleepFor } from 'node:timers/promises';
import { chooseDue } from './due-list.ts';
import type { TakenJob } from './job-queue.ts';
import { AT_ONCE, giveBack, messageOf, performJob, type WorkerPorts } from './perform-job.ts';
import { forgetWorker, giveSign, type WorkerIdentity } from './worker-identity.ts';

/** How often a worker looks for jobs while there are none. */
const POLL_MS = 2000;

/** How often a worker gives a sign of life. */
const SIGN_MS = 5000;

/** With every so many signs a worker puts what is due into the queue. */
const SIGNS_PER_LOOK = 2;

/** How long an account is left to other workers after its token was not found here. */
const WITHOUT_TOKEN_MS = 5 * 60_000;

/** How long syncs at hand may take to stop: of the five seconds of a stop, the rest is for giving them back (R27). */
const STOP_MS = 3000;

/** The longest wait after the database could not be reached. */
const MOST_TROUBLE_MS = 30_000;

/** Does jobs until the signal is aborted, then gives back what is not done. */
export async function runWorker(
  ports: WorkerPorts,
  workerIdentity: WorkerIdentity,
  signal: AbortSignal,
): Promise<void> {
  const atHand: JobsAtHand = new Map();
  const inProgress = { atHand, noTokenUntil: new Map<string, number>(), signal };
  const signs = keepGivingSigns(ports, workerIdentity, inProgress);
  await takeJobs(ports, workerIdentity, inProgress);
  await signs;
  await untilStopped(atHand);
  await handOver(ports, workerIdentity, atHand);
}

/** Waits until the jobs at hand have stopped, but not for long. */
async function untilStopped(atHand: JobsAtHand): Promise<void> {
  const stopped = new AbortController();
  await Promise.race([Promise.allSettled(atHand.values()), pause(STOP_MS, stopped.signal)]);
  stopped.abort();
}

/** The jobs at hand, each with the promise of its end. */
type JobsAtHand = Map<TakenJob, Promise<void>>;

interface WorkInProgress {
  readonly atHand: JobsAtHand;
  /** The accounts that are left to other workers, because this host has not their tokens, and until when. */
  readonly noTokenUntil: Map<string, number>;
  readonly signal: AbortSignal;
}

async function takeJobs(
  ports: WorkerPorts,
  { worker, concurrency }: WorkerIdentity,
  inProgress: WorkInProgress,
): Promise<void> {
  const { atHand, signal } = inProgress;
  let troubleMs = 0;
  while (!signal.aborted) {
    const free = concurrency - atHand.size;
    const taken = free === 0 ? [] : await takeSome(ports, free, inProgress);
    if (typeof taken === 'string') {
      troubleMs = Math.min(Math.max(2 * troubleMs, POLL_MS / 2), MOST_TROUBLE_MS);
      ports.onEvent({
        type: 'trouble',
        message: `the queue cannot be read, next try in ${troubleMs / 1000} s: ${taken}`,
      });
      await pause(troubleMs, signal);
      continue;
    }
    troubleMs = 0;
    for (const job of taken) {
      const end = perform(ports, job, { worker, ...inProgress }).finally(() => atHand.delete(job));
      atHand.set(job, end);
    }
    // There may be more of them: the queue gives one of each account at a time.
    if (taken.length === 0) await untilNextLook(atHand, free === 0 ? SIGN_MS : POLL_MS, signal);
  }
}

/** @returns what is wrong if no jobs can be taken */
async function takeSome(
  { queue, database }: WorkerPorts,
  most: number,
  { noTokenUntil }: WorkInProgress,
): Promise<readonly TakenJob[] | string> {
  const now = performance.now();
  for (const [account, until] of noTokenUntil) if (until <= now) noTokenUntil.delete(account);
  return queue.take(most, [...noTokenUntil.keys()]).catch((error: unknown) => messageOf(database, error));
}

/** Waits until a job has ended, or the time has passed. */
async function untilNextLook(atHand: JobsAtHand, ms: number, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const passed = pause(ms, AbortSignal.any([signal, ended.signal]));
  await Promise.race([...atHand.values(), passed]);
  ended.abort();
}

/** Performs one job and reports it. It never fails. */
async function perform(
  ports: WorkerPorts,
  job: TakenJob,
  { worker, noTokenUntil, signal }: WorkInProgress & { worker: string },
): Promise<void> {
  const begunMs = performance.now();
  const account = 'list' in job.data ? job.data.list : job.data.account;
  // Of a listing no more than its end is told.
  if ('environment' in job.data) ports.onEvent({ type: 'begun', account, environment: job.data.environment });
  try {
    const end = await performJob(ports, job, { worker, signal });
    if (end.result === 'no token') noTokenUntil.set(account, performance.now() + WITHOUT_TOKEN_MS);
    // What a listing has found may be due at once.
    if (end.result === 'listed') await queueDue(ports);
    ports.onEvent({ type: 'job', account, ...end, seconds: (performance.now() - begunMs) / 1000 });
  } catch (error) {
    // The queue gives the job to another worker when it hears no more of it.
    const message = `the job could not be ended: ${messageOf(ports.database, error)}`;
    const environment = 'list' in job.data ? null : job.data.environment;
    const seconds = (performance.now() - begunMs) / 1000;
    ports.onEvent({ type: 'job', account, environment, result: 'not ended', error: message, seconds });
  }
}

async function keepGivingSigns(
  ports: WorkerPorts,
  workerIdentity: WorkerIdentity,
  { atHand, signal }: WorkInProgress,
): Promise<void> {
  for (let signs = 0; !signal.aborted; signs++) {
    try {
      await giveSign(ports.database, workerIdentity);
      if (atHand.size > 0) await ports.queue.touch([...atHand.keys()]);
      if (signs % SIGNS_PER_LOOK === 0) await queueDue(ports);
    } catch (error) {
      ports.onEvent({
        type: 'trouble',
        message: `no sign of life could be given: ${messageOf(ports.database, error)}`,
      });
    }
    await pause(SIGN_MS, signal);
  }
}

/** Puts what is due into the queue: whichever worker comes first does so for all. @returns how many jobs */
async function queueDue({ database, queue }: Pick<WorkerPorts, 'database' | 'queue'>): Promise<number> {
  return database.transaction(async (transaction) => {
    const jobs = await chooseDue(transaction);
    if (jobs.length > 0) await queue.add(transaction, jobs);
    return jobs.length;
  });
}

/** Gives back the jobs that did not stop in time. Their processes end with this one, and their leases with their connections (R26). */
async function handOver(ports: WorkerPorts, { worker }: WorkerIdentity, atHand: JobsAtHand): Promise<void> {
  try {
    for (const job of atHand.keys()) await giveBack(ports, job, { worker, ...AT_ONCE });
    await forgetWorker(ports.database, worker);
    await queueDue(ports);
  } catch (error) {
    ports.onEvent({ type: 'trouble', message: `jobs could not be given back: ${messageOf(ports.database, error)}` });
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleepFor(ms, undefined, { signal }).catch(() => {});
}
