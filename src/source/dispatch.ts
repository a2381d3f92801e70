import { SyncError } from '../core/errors.ts';
import type { QuotaPermit } from '../core/quota/quota-state.ts';
import { type Pause, waitsTooLong } from '../core/quota/rate-window.ts';
import { pause, type RateLimiter, stop } from './limiter-state.ts';
import { askPermit, quotaNowMs, returnPermit, windowOf } from './quota-client.ts';

/** Lets as many queued requests start as there are permits. */
export function fitQueue({ queue, permits, sending }: RateLimiter): void {
  const places = permits.length + sending.size;
  if (places > 0) {
    queue.concurrency = places;
    queue.start();
  } else {
    queue.pause();
  }
}

/** Asks for permits as long as requests are queued and may be in flight. */
export function dispatch(rateLimiter: RateLimiter): void {
  if (rateLimiter.dispatching === null) rateLimiter.dispatched = startAll(rateLimiter);
  else rateLimiter.dispatching = 'again';
}

async function startAll(rateLimiter: RateLimiter): Promise<void> {
  do {
    rateLimiter.dispatching = 'once';
    try {
      while (await startNext(rateLimiter));
    } catch (error) {
      stop(rateLimiter, keeperFailed(error));
    }
  } while (isAskedAgain(rateLimiter));
  rateLimiter.dispatching = null;
}

function isAskedAgain({ dispatching }: RateLimiter): boolean {
  return dispatching === 'again';
}

/** @returns whether there may be more to start */
async function startNext(rateLimiter: RateLimiter): Promise<boolean> {
  const { permits, sending, queue, stopped, options } = rateLimiter;
  if (stopped !== null || queue.size === 0) return giveBackUnused(rateLimiter);
  if (permits.length > 0 || sending.size >= options.concurrency) return false;
  rateLimiter.wake = new AbortController();
  const permit = await askPermit(rateLimiter.quota);
  if (permit.kind === 'full') return waitForOthers(rateLimiter, permit);
  rateLimiter.crowded = null;
  if (permit.kind === 'wait') return waitFor(rateLimiter, permit);
  permits.push(permit.request);
  fitQueue(rateLimiter);
  return true;
}

function giveBackUnused(rateLimiter: RateLimiter): false {
  for (const request of rateLimiter.permits.splice(0)) report(rateLimiter, returnPermit(rateLimiter.quota, request));
  fitQueue(rateLimiter);
  return false;
}

async function waitFor(
  rateLimiter: RateLimiter,
  { delayMs, reason }: { delayMs: number; reason: Pause['reason'] },
): Promise<boolean> {
  const { clock, maxWaitMs } = rateLimiter.options;
  if (rateLimiter.stopped !== null) return true;
  if (waitsTooLong(windowOf(rateLimiter.quota), quotaNowMs(rateLimiter.quota), maxWaitMs)) {
    stop(rateLimiter, comeBack(delayMs, clock.utcMs()));
    return true;
  }
  await pause(rateLimiter, delayMs, reason).catch(() => {});
  return true;
}

/**
 * Waits for a moment, if requests of other processes are in flight. They do not tell when they end, and nobody may wait for them
 * longer than `maxWaitMs`. A request of our own that ends asks again by itself.
 */
async function waitForOthers(
  rateLimiter: RateLimiter,
  { others, untilMs }: Extract<QuotaPermit, { kind: 'full' }>,
): Promise<boolean> {
  if (others === 0 || rateLimiter.stopped !== null) return false;
  const { clock, maxWaitMs, random, sleep, onEvent } = rateLimiter.options;
  rateLimiter.crowded ??= { sinceMs: clock.nowMs(), looks: 0 };
  const { crowded, halt, wake } = rateLimiter;
  const leftMs = Math.max(0, untilMs - quotaNowMs(rateLimiter.quota));
  if (clock.nowMs() - crowded.sinceMs > maxWaitMs) {
    stop(rateLimiter, comeBack(leftMs, clock.utcMs()));
    return false;
  }
  if (crowded.looks === LOOKS_UNTOLD) onEvent?.({ type: 'wait', reason: 'quota', delayMs: Math.ceil(leftMs) });
  const delayMs = Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 2 ** crowded.looks++) * (0.5 + random());
  await sleep(delayMs, AbortSignal.any([halt.signal, wake.signal])).catch(() => {});
  return true;
}

const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 320;
/** A wait for others is shown only when it takes longer than requests usually do. */
const LOOKS_UNTOLD = 8;

function keeperFailed(error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  return new SyncError('run', "The state of the account's quota cannot be kept.", { cause: error });
}

/** The keeper is told while the answer is used: nobody waits for it but the requests to come. */
export function report(rateLimiter: RateLimiter, told: Promise<void>): void {
  const ended = told
    .catch((error: unknown) => stop(rateLimiter, keeperFailed(error)))
    .then(() => {
      rateLimiter.reports.delete(ended);
      rateLimiter.wake.abort();
      dispatch(rateLimiter);
    });
  rateLimiter.reports.add(ended);
}

function comeBack(delayMs: number, utcMs: number): SyncError {
  const at = new Date(utcMs + delayMs).toISOString().replace(/\.\d+/, '');
  const minutes = Math.max(1, Math.ceil(delayMs / 60_000));
  const when = `${at}, in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new SyncError('quota', `The account's quota is used up: run again at ${when}, or raise --max-wait.`);
}
