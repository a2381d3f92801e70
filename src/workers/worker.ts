import { setTimeout as sleepFor } from 'node:timers/promises';
import { type ClaimedJob, claimListing, claimSync } from './job-queue.ts';
import { messageOf, performJob, type WorkerPorts } from './perform-job.ts';
import { repairFutureTimes } from './repair-future-times.ts';
import { recordHeartbeat, releaseWorker, type WorkerIdentity } from './worker-identity.ts';

/** How often a worker polls for jobs while there are none. */
const POLL_MS = 2000;

const HEARTBEAT_MS = 5000;

/** A worker repairs times in the future once a minute. */
const HEARTBEATS_PER_REPAIR = 12;

/** How long a worker skips an account whose token was not found on its host. */
const WITHOUT_TOKEN_MS = 5 * 60_000;

/**
 * How long an account is skipped after the end of one of its jobs could not be recorded: that job is due immediately.
 */
const NOT_ENDED_MS = 30_000;

/** How long syncs in flight may take to stop: the rest of the five seconds of a stop is for releasing them (R27). */
const STOP_MS = 3000;

/** The longest backoff while the database is unreachable. */
const MAX_BACKOFF_MS = 30_000;

/** Performs jobs until the signal is aborted, then releases unfinished ones. */
export async function workUntilStopped(
  ports: WorkerPorts,
  identity: WorkerIdentity,
  signal: AbortSignal,
): Promise<void> {
  const inFlight: JobsInFlight = new Map();
  // Before the first claim: claims of an unknown worker are up for grabs.
  await heartbeat(ports, identity, { withRepair: true });
  const heartbeats = sendHeartbeats(ports, identity, signal);
  await claimJobs(ports, identity, { inFlight, skipUntil: new Map(), signal });
  await heartbeats;
  await waitFor(Promise.allSettled(inFlight.values()), STOP_MS);
  await release(ports, identity);
}

/** The jobs in flight, each with the promise of its end. */
type JobsInFlight = Map<ClaimedJob, Promise<void>>;

interface WorkInProgress {
  readonly inFlight: JobsInFlight;
  /** The accounts from which this worker claims nothing, and until when. */
  readonly skipUntil: Map<string, number>;
  readonly signal: AbortSignal;
}

async function claimJobs(
  ports: WorkerPorts,
  { worker, concurrency }: WorkerIdentity,
  inProgress: WorkInProgress,
): Promise<void> {
  const { inFlight, signal } = inProgress;
  let backoffMs = 0;
  for (let claims = 0; !signal.aborted; claims++) {
    try {
      // Alternates, so neither listings nor syncs starve the other.
      const order = claims % 2 === 0 ? CLAIMS : CLAIMS.toReversed();
      const before = inFlight.size;
      const job = before < concurrency ? await claimJob(ports, worker, inProgress, order) : null;
      backoffMs = 0;
      if (job === null) {
        // A job that ended during the claim may have made another one of its account claimable.
        if (inFlight.size === before) await waitFor(Promise.race(inFlight.values()), POLL_MS, signal);
      } else {
        const end = perform(ports, job, { worker, ...inProgress }).finally(() => inFlight.delete(job));
        inFlight.set(job, end);
      }
    } catch (error) {
      backoffMs = Math.min(Math.max(2 * backoffMs, POLL_MS / 2), MAX_BACKOFF_MS);
      const reason = messageOf(ports.database, error);
      const message = `the queue cannot be read, retrying in ${backoffMs / 1000} s: ${reason}`;
      ports.onEvent({ type: 'trouble', message });
      await pause(backoffMs, signal);
    }
  }
}

const CLAIMS = [claimListing, claimSync] as const;

async function claimJob(
  { database }: WorkerPorts,
  worker: string,
  { inFlight, skipUntil }: WorkInProgress,
  order: readonly (typeof CLAIMS)[number][],
): Promise<ClaimedJob | null> {
  const now = performance.now();
  for (const [account, until] of skipUntil) if (until <= now) skipUntil.delete(account);
  for (const claim of order) {
    const alike = [...inFlight.keys()].filter((job) => (job.environment === null) === (claim === claimListing));
    const without = [...skipUntil.keys(), ...alike.map((job) => job.account.name)];
    const job = await claim(database, { worker, without });
    if (job !== null) return job;
  }
  return null;
}

/** Waits until the jobs have ended, the time has passed, or the signal is aborted. */
async function waitFor(jobs: Promise<unknown>, ms: number, signal = new AbortController().signal): Promise<void> {
  const ended = new AbortController();
  await Promise.race([jobs, pause(ms, AbortSignal.any([ended.signal, signal]))]);
  ended.abort();
}

/** Performs one job and reports it. Never rejects. */
async function perform(
  ports: WorkerPorts,
  job: ClaimedJob,
  { worker, skipUntil, signal }: WorkInProgress & { worker: string },
): Promise<void> {
  const begunMs = performance.now();
  const account = job.account.name;
  const environment = job.environment?.name ?? null;
  const seconds = () => (performance.now() - begunMs) / 1000;
  // For a listing only the end is reported.
  if (environment !== null) ports.onEvent({ type: 'begun', account, environment });
  try {
    const end = await performJob(ports, job, { worker, signal });
    if (end.result === 'no token') skipUntil.set(account, performance.now() + WITHOUT_TOKEN_MS);
    ports.onEvent({ type: 'job', account, environment, ...end, seconds: seconds() });
  } catch (error) {
    skipUntil.set(account, performance.now() + NOT_ENDED_MS);
    const message = `the end of the job could not be recorded: ${messageOf(ports.database, error)}`;
    ports.onEvent({ type: 'job', account, environment, result: 'not ended', error: message, seconds: seconds() });
  }
}

async function sendHeartbeats(ports: WorkerPorts, identity: WorkerIdentity, signal: AbortSignal): Promise<void> {
  for (let beats = 1; !signal.aborted; beats++) {
    await pause(HEARTBEAT_MS, signal);
    if (!signal.aborted) await heartbeat(ports, identity, { withRepair: beats % HEARTBEATS_PER_REPAIR === 0 });
  }
}

/** Never rejects. */
async function heartbeat(
  { database, onEvent }: WorkerPorts,
  identity: WorkerIdentity,
  { withRepair }: { withRepair: boolean },
): Promise<void> {
  try {
    if (withRepair) await repairFutureTimes(database);
    await recordHeartbeat(database, identity);
  } catch (error) {
    onEvent({ type: 'trouble', message: `the heartbeat could not be recorded: ${messageOf(database, error)}` });
  }
}

/**
 * Also releases jobs that did not stop in time: they end with the process, and their leases with its connections (R26).
 */
async function release({ database, onEvent }: WorkerPorts, { worker }: WorkerIdentity): Promise<void> {
  try {
    await releaseWorker(database, worker);
  } catch (error) {
    onEvent({ type: 'trouble', message: `jobs could not be released: ${messageOf(database, error)}` });
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleepFor(ms, undefined, { signal }).catch(() => {});
}
