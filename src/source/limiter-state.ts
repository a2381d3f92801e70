import PQueue from 'p-queue';
import { SyncError } from '../core/errors.ts';
import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import { NO_OUTAGE, type OutageState } from '../core/quota/outage.ts';
import type { NotedRequest } from '../core/quota/quota-state.ts';
import type { Pause } from '../core/quota/rate-window.ts';
import { memoryKeeper } from './memory-keeper.ts';
import { openQuotaClient, type QuotaClient } from './quota-client.ts';
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
  /** The time that one request may take, including its body. */
  readonly timeoutMs: number;
  /** A random number from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Where the state of the account's quota is kept; the source closes it. By default, in the memory of this source alone. */
  readonly quotaKeeper?: QuotaKeeper | undefined;
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
  readonly quota: QuotaClient;
  /** The permits that no request uses yet. */
  readonly permits: NotedRequest[];
  /** The requests in flight. */
  readonly sending: Set<Promise<RequestOutcome>>;
  /** What is still told to the keeper about requests. */
  readonly reports: Set<Promise<void>>;
  /** When the last request was sent that was not refused (429); null while there is none. */
  lastPassMs: number | null;
  outage: OutageState;
  /** Resolves when the outage is over or the gate is stopped; null unless a request probes the service. */
  back: PromiseWithResolvers<void> | null;
  /** `again` if there was a reason to look at the queue once more while permits were asked for; null if none are. */
  dispatching: 'once' | 'again' | null;
  /** Resolves when no permit is asked for any more. */
  dispatched: Promise<void>;
  /** Since when other processes' requests leave no place, and how often it was looked; null if they leave one. */
  crowded: { readonly sinceMs: number; looks: number } | null;
  /** Ends the wait for other processes' requests. */
  wake: AbortController;
  /** The number of requests sent so far. */
  requests: number;
  /** The reason why no request starts any more; null while the gate is open. */
  stopped: SyncError | null;
}

export function openRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { clock, maxWaitMs, timeoutMs } = options;
  const nowMs = () => clock.nowMs();
  const keeper = options.quotaKeeper ?? memoryKeeper(nowMs);
  const rateLimiter: RateLimiter = {
    options,
    queue: new PQueue({ concurrency: 1, autoStart: false }),
    halt: new AbortController(),
    quota: openQuotaClient(keeper, { nowMs, maxWaitMs, timeoutMs }),
    permits: [],
    sending: new Set(),
    reports: new Set(),
    lastPassMs: null,
    outage: NO_OUTAGE,
    back: null,
    dispatching: null,
    dispatched: Promise.resolve(),
    crowded: null,
    wake: new AbortController(),
    requests: 0,
    stopped: null,
  };
  stopIfSpent(rateLimiter);
  return rateLimiter;
}

/** Lets no further request start: waiting calls fail with `reason`. A later stop replaces the reason. */
export function stop(rateLimiter: RateLimiter, reason: SyncError): void {
  rateLimiter.stopped = reason;
  rateLimiter.queue.clear();
  rateLimiter.halt.abort();
  releaseAll(rateLimiter);
}

export function releaseAll(rateLimiter: RateLimiter): void {
  rateLimiter.back?.resolve();
  rateLimiter.back = null;
}

/** Sleeps, and tells why. Rejects only when the gate is stopped. */
export function pause(
  { options, halt }: RateLimiter,
  delayMs: number,
  reason: Pause['reason'] | 'retry',
  about?: string,
): Promise<void> {
  const wholeMs = Math.ceil(delayMs);
  options.onEvent?.({ type: 'wait', reason, delayMs: wholeMs, ...(about === undefined ? {} : { about }) });
  return options.sleep(wholeMs, halt.signal);
}

export function stopIfSpent(rateLimiter: RateLimiter): void {
  const { maxRequests } = rateLimiter.options;
  if (maxRequests === null || rateLimiter.requests < maxRequests) return;
  stop(
    rateLimiter,
    new SyncError('budget', `Stopped at ${maxRequests} requests (--max-requests): the next run carries on.`),
  );
}
