import { setTimeout as sleepFor } from 'node:timers/promises';
import { errorMessage } from '../core/errors.ts';
import { type ClaimedJob, claimListing, claimSync } from './job-queue.ts';
import { type JobRun, performJob, type WorkerPorts } from './perform-job.ts';
import { repairFutureTimes } from './repair-future-times.ts';
import { recordHeartbeat, releaseWorker, type WorkerIdentity } from './worker-identity.ts';

/** How often a worker polls for jobs while there are none. */
const POLL_MS = 2000;

const HEARTBEAT_MS = 5000;

/** A worker repairs times in the future once a minute. */
const HEARTBEATS_PER_REPAIR = 12;

/** How long a worker skips an account whose token was not found on its host. */
const WITHOUT_TOKEN_MS = 5 * 60_000;

/** How long an account is skipped if the end of its job could not be recorded: that job is due immediately. */
const NOT_ENDED_MS = 30_000;

/** How long syncs in flight may take to stop: the rest of the five seconds of a stop is for releasing them (R27). */
const STOP_MS = 3000;

const MAX_BACKOFF_MS = 30_000;

interface WorkerRun extends JobRun, WorkerIdentity {
  /** The jobs in flight, each with the promise of its end. */
  readonly inFlight: Map<ClaimedJob, Promise<void>>;
  /** The accounts from which this worker claims nothing, and until when. */
  readonly skipUntil: Map<string, number>;
}

/** Performs jobs until the signal is aborted, then releases unfinished ones. */
export async function workUntilStopped(
  ports: WorkerPorts,
  identity: WorkerIdentity,
  signal: AbortSignal,
): Promise<void> {
  const run: WorkerRun = { ...ports, ...identity, signal, inFlight: new Map(), skipUntil: new Map() };
  // Before the first claim: claims of an unknown worker are up for grabs.
  await heartbeat(run, { withRepair: true });
  const heartbeats = sendHeartbeats(run);
  await claimJobs(run);
  await heartbeats;
  await waitFor(Promise.allSettled(run.inFlight.values()), STOP_MS);
  // Jobs that did not stop in time too: they end with the process, and their leases with its connections (R26).
  await releaseWorker(run.database, run.worker).catch((error) => report(run, 'jobs could not be released', error));
}

async function claimJobs(run: WorkerRun): Promise<void> {
  const { inFlight, concurrency, signal } = run;
  let backoffMs = 0;
  for (let claims = 0; !signal.aborted; claims++) {
    try {
      // Alternates, so neither listings nor syncs starve the other.
      const order = claims % 2 === 0 ? CLAIMS : CLAIMS.toReversed();
      const before = inFlight.size;
      const job = before < concurrency ? await claimJob(run, order) : null;
      backoffMs = 0;
      if (job !== null)
        inFlight.set(
          job,
          perform(run, job).finally(() => inFlight.delete(job)),
        );
      // A job that ended during the claim may have made another one of its account claimable.
      else if (inFlight.size === before) await waitFor(Promise.race(inFlight.values()), POLL_MS, signal);
    } catch (error) {
      backoffMs = Math.min(Math.max(2 * backoffMs, POLL_MS / 2), MAX_BACKOFF_MS);
      report(run, `the queue cannot be read, retrying in ${backoffMs / 1000} s`, error);
      await pause(backoffMs, signal);
    }
  }
}

const CLAIMS = [claimListing, claimSync] as const;

async function claimJob(
  { database, worker, inFlight, skipUntil }: WorkerRun,
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
async function perform(run: WorkerRun, job: ClaimedJob): Promise<void> {
  const { database, onEvent, skipUntil } = run;
  const begunMs = performance.now();
  const account = job.account.name;
  const environment = job.environment?.name ?? null;
  const seconds = () => (performance.now() - begunMs) / 1000;
  // For a listing only the end is reported.
  if (environment !== null) onEvent({ type: 'begun', account, environment });
  try {
    const end = await performJob(run, job);
    if (end.result === 'no token') skipUntil.set(account, performance.now() + WITHOUT_TOKEN_MS);
    onEvent({ type: 'job', account, environment, ...end, seconds: seconds() });
  } catch (error) {
    skipUntil.set(account, performance.now() + NOT_ENDED_MS);
    const message = `the end of the job could not be recorded: ${errorMessage(database.explain(error))}`;
    onEvent({ type: 'job', account, environment, result: 'not ended', error: message, seconds: seconds() });
  }
}

async function sendHeartbeats(run: WorkerRun): Promise<void> {
  for (let beats = 1; !run.signal.aborted; beats++) {
    await pause(HEARTBEAT_MS, run.signal);
    if (!run.signal.aborted) await heartbeat(run, { withRepair: beats % HEARTBEATS_PER_REPAIR === 0 });
  }
}

/** Never rejects. */
async function heartbeat(run: WorkerRun, { withRepair }: { withRepair: boolean }): Promise<void> {
  try {
    if (withRepair) await repairFutureTimes(run.database);
    await recordHeartbeat(run.database, run);
  } catch (error) {
    report(run, 'the heartbeat could not be recorded', error);
  }
}

function report({ database, onEvent }: WorkerRun, what: string, error: unknown): void {
  onEvent({ type: 'trouble', message: `${what}: ${errorMessage(database.explain(error))}` });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleepFor(ms, undefined, { signal }).catch(() => {});
}
