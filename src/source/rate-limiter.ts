import PQueue from 'p-queue';
import { SyncError } from '../core/errors.ts';
import { isAway, listFailed, NO_OUTAGE, type OutageState } from '../core/outage.ts';
import {
  observe,
  type Pause,
  permitNow,
  type RateWindow,
  requestStart,
  UNKNOWN_WINDOW,
  waitsTooLong,
} from '../core/rate-window.ts';
import type { SourceEvent } from '../core/source.ts';
import type { RequestOutcome } from './send.ts';

/** The clock of the source. It is passed in, so that tests need not wait. */
interface SourceClock {
  /** Monotonic time in milliseconds. */
  nowMs(): number;
  /** Milliseconds since 1970; only shown to people. */
  utcMs(): number;
}

export interface RateLimiterOptions {
  readonly concurrency: number;
  readonly maxWaitMs: number;
  /** The most requests that may be sent; null for no limit. */
  readonly maxRequests: number | null;
  readonly clock: SourceClock;
  /** Resolves after the delay; rejects only when the signal aborts. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent?: ((event: SourceEvent) => void) | undefined;
}

/** Every request to the account passes here. It keeps the quota (R23), the limit of requests and the stop. */
export interface RateLimiter {
  readonly options: RateLimiterOptions;
  /** The requests that wait for their turn and those in flight. */
  readonly queue: PQueue;
  /** Ends every sleep when the gate is stopped. */
  readonly halt: AbortController;
  window: RateWindow;
  /** When the last request was sent that was not refused (429); null while there is none. */
  lastPassMs: number | null;
  outage: OutageState;
  /** Resolves when the outage is over or the gate is stopped; null unless a request probes the service. */
  back: PromiseWithResolvers<void> | null;
  /** Whether the queue is paused and a timer will start it again. */
  waiting: boolean;
  /** The number of requests sent so far. */
  requests: number;
  /** The reason why no request starts any more; null while the gate is open. */
  stopped: SyncError | null;
}

export function openRateLimiter(options: RateLimiterOptions): RateLimiter {
  const rateLimiter: RateLimiter = {
    options,
    queue: new PQueue({ concurrency: 1 }),
    halt: new AbortController(),
    window: UNKNOWN_WINDOW,
    lastPassMs: null,
    outage: NO_OUTAGE,
    back: null,
    waiting: false,
    requests: 0,
    stopped: null,
  };
  stopIfSpent(rateLimiter);
  return rateLimiter;
}

/**
 * Which request goes first. A refused request goes last: the answers to the others tell whether the whole account is refused or
 * only this list (R9). During an outage only the probe goes (R24).
 */
export const PRIORITY = { probe: 2, again: 1, fresh: 0, refused: -1 } as const;

type RequestPriority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** A request, and the function that judges its outcome before the next request has its turn. */
export interface GatedRequest<V> {
  send(): Promise<RequestOutcome>;
  judge(requestOutcome: RequestOutcome): V;
}

/**
 * Sends when it is this request's turn. A stopped gate makes it throw; a request in flight still gives its outcome. The loop
 * ends: each turn sends, throws, or waits for the end of an outage, which ends or stops the gate (R24).
 * @throws the SyncError that stopped the gate
 */
export async function acquire<V>(
  rateLimiter: RateLimiter,
  gatedRequest: GatedRequest<V>,
  requestPriority: RequestPriority,
): Promise<V> {
  for (;;) {
    if (rateLimiter.stopped !== null) throw rateLimiter.stopped;
    const isHeldUp = () => isAway(rateLimiter.outage) && requestPriority !== PRIORITY.probe;
    const turn = rateLimiter.queue.add(async () => (isHeldUp() ? HELD_UP : sendCounted(rateLimiter, gatedRequest)), {
      priority: requestPriority,
    });
    regulate(rateLimiter);
    const verdict = await turn.catch((error: unknown) => {
      throw rateLimiter.stopped ?? error;
    });
    if (verdict !== HELD_UP) return verdict;
    await rateLimiter.back?.promise;
  }
}

const HELD_UP = Symbol('held up');

/** Notes that the list at this path failed. When several lists fail, there is an outage (R24). */
export function noteFailure(rateLimiter: RateLimiter, path: readonly string[]): void {
  rateLimiter.outage = listFailed(rateLimiter.outage, path);
}

/** Notes that the service has answered, which ends an outage (R24). */
export function noteAnswer(rateLimiter: RateLimiter): void {
  rateLimiter.outage = NO_OUTAGE;
  releaseAll(rateLimiter);
}

/** Takes over, before the first request, what is known of the current quota window (R23). */
export function resume(rateLimiter: RateLimiter, window: RateWindow): void {
  rateLimiter.window = window;
  regulate(rateLimiter);
}

/** Waits before a further try, outside the queue, so that other requests can go meanwhile. Throws like `pass`. */
export async function backOff(rateLimiter: RateLimiter, delayMs: number, about: string): Promise<void> {
  if (rateLimiter.stopped !== null) throw rateLimiter.stopped;
  await pause(rateLimiter, delayMs, 'retry', about).catch((error: unknown) => {
    throw rateLimiter.stopped ?? error;
  });
}

/** Lets no further request start: waiting calls fail with `reason`. A later stop replaces the reason. */
export function stop(rateLimiter: RateLimiter, reason: SyncError): void {
  rateLimiter.stopped = reason;
  rateLimiter.queue.clear();
  rateLimiter.halt.abort();
  releaseAll(rateLimiter);
}

function releaseAll(rateLimiter: RateLimiter): void {
  rateLimiter.back?.resolve();
  rateLimiter.back = null;
}

async function sendCounted<V>(rateLimiter: RateLimiter, gatedRequest: GatedRequest<V>): Promise<V> {
  const departure = requestStart(rateLimiter.window, rateLimiter.options.clock.nowMs());
  rateLimiter.requests++;
  stopIfSpent(rateLimiter);
  const outcome = await gatedRequest.send();
  rateLimiter.window = observe(rateLimiter.window, departure, outcome.answer, outcome.heardMs);
  if (hasPassed(outcome))
    rateLimiter.lastPassMs = Math.max(departure.sentMs, rateLimiter.lastPassMs ?? departure.sentMs);
  const verdict = gatedRequest.judge(outcome);
  regulate(rateLimiter);
  return verdict;
}

/** The request was not refused (429), and the service itself answered. */
function hasPassed({ answer }: RequestOutcome): boolean {
  return answer !== null && answer.status !== 429 && answer.status < 500;
}

/** Sets the queue to what the quota window allows now. While it allows nothing, waits if a request is queued. */
function regulate(rateLimiter: RateLimiter): void {
  if (rateLimiter.stopped !== null || rateLimiter.waiting) return;
  const permit = permitNow(rateLimiter.window, rateLimiter.options.clock.nowMs());
  if (permit.kind === 'go') {
    rateLimiter.queue.concurrency = Math.min(rateLimiter.options.concurrency, permit.inFlight);
    rateLimiter.queue.start();
    return;
  }
  rateLimiter.queue.pause();
  if (rateLimiter.queue.size > 0) void waitFor(rateLimiter, permit);
}

async function waitFor(
  rateLimiter: RateLimiter,
  { delayMs, reason }: { delayMs: number; reason: Pause['reason'] },
): Promise<void> {
  const { clock, maxWaitMs } = rateLimiter.options;
  if (waitsTooLong(rateLimiter.window, clock.nowMs(), maxWaitMs))
    return stop(rateLimiter, comeBack(delayMs, clock.utcMs()));
  rateLimiter.waiting = true;
  await pause(rateLimiter, delayMs, reason).catch(() => {});
  rateLimiter.waiting = false;
  regulate(rateLimiter);
}

function pause(
  { options, halt }: RateLimiter,
  delayMs: number,
  reason: Pause['reason'] | 'retry',
  about?: string,
): Promise<void> {
  const wholeMs = Math.ceil(delayMs);
  options.onEvent?.({ type: 'wait', reason, delayMs: wholeMs, ...(about === undefined ? {} : { about }) });
  return options.sleep(wholeMs, halt.signal);
}

function stopIfSpent(rateLimiter: RateLimiter): void {
  const { maxRequests } = rateLimiter.options;
  if (maxRequests === null || rateLimiter.requests < maxRequests) return;
  stop(
    rateLimiter,
    new SyncError('budget', `Stopped at ${maxRequests} requests (--max-requests): the next run carries on.`),
  );
}

function comeBack(delayMs: number, utcMs: number): SyncError {
  const at = new Date(utcMs + delayMs).toISOString().replace(/\.\d+/, '');
  const minutes = Math.max(1, Math.ceil(delayMs / 60_000));
  const when = `${at}, in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new SyncError('quota', `The account's quota is used up: run again at ${when}, or raise --max-wait.`);
}
