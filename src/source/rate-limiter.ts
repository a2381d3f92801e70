import PQueue from 'p-queue';
import { SyncError } from '../core/errors.ts';
import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import type { NotedRequest, QuotaPermit } from '../core/quota/quota-state.ts';
import { type Pause, waitsTooLong } from '../core/quota/rate-window.ts';
import { memoryKeeper } from './memory-keeper.ts';
import { QuotaClient } from './quota-client.ts';
import type { RequestOutcome } from './send.ts';
import type { ServiceHealth } from './service-health.ts';

/** The clock of the source; passed in, so tests need not wait. */
interface SourceClock {
  /** Monotonic time in milliseconds. */
  nowMs(): number;
  /** Milliseconds since 1970; only for display. */
  utcMs(): number;
}

export interface RateLimiterOptions {
  readonly concurrency: number;
  readonly maxWaitMs: number;
  /** The most requests that may be sent; null for no limit. */
  readonly maxRequests: number | null;
  readonly clock: SourceClock;
  /** The time limit of one request, including its body. */
  readonly timeoutMs: number;
  /** A random number from 0 up to but excluding 1. */
  readonly random: () => number;
  /** Stores the state of the account's quota; the source closes it. By default, in the memory of this source. */
  readonly quotaKeeper?: QuotaKeeper | undefined;
  /** Resolves after the delay; rejects only if the signal aborts. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent?: ((event: SourceEvent) => void) | undefined;
}

/**
 * Which request goes first. A refused request goes last: the responses to the others show whether the whole account is
 * refused or only this list (R9). During an outage only the probe goes (R24).
 */
export const PRIORITY = { probe: 2, retry: 1, fresh: 0, refused: -1 } as const;

type RequestPriority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** A request, and the function that judges its outcome before the next request's turn. */
export interface LimitedRequest<V> {
  send(): Promise<RequestOutcome>;
  judge(outcome: RequestOutcome): V;
}

/** Every request to the account passes through here. It enforces the quota (R23), `maxRequests` and the stop. */
export class RateLimiter {
  readonly quota: QuotaClient;
  /** How many requests have been sent. */
  requests = 0;
  /** Why no more requests may start; null while they may. */
  stopped: SyncError | null = null;
  /** When the last request was sent that was not refused (429); null if there is none. */
  lastPassMs: number | null = null;
  readonly #options: RateLimiterOptions;
  readonly #health: ServiceHealth;
  readonly #queue = new PQueue({ concurrency: 1, autoStart: false });
  /** Ends every sleep when the limiter stops. */
  readonly #halt = new AbortController();
  /** Permits that no request uses yet. */
  readonly #permits: NotedRequest[] = [];
  readonly #inFlight = new Set<Promise<RequestOutcome>>();
  /** Reports that the quota keeper has not received yet. */
  readonly #reports = new Set<Promise<void>>();
  /** How often a reason to request permits came up. */
  #demand = 0;
  /** Resolves when no permit is being requested; null if none is. */
  #dispatching: Promise<void> | null = null;
  /** Since when other processes' requests leave no room, and how often that was checked; null if there is room. */
  #crowded: { readonly sinceMs: number; checks: number } | null = null;
  /** Ends the wait for other processes' requests. */
  #wake = new AbortController();

  constructor(options: RateLimiterOptions, health: ServiceHealth) {
    const { clock, maxWaitMs, timeoutMs } = options;
    const nowMs = () => clock.nowMs();
    this.#options = options;
    this.#health = health;
    this.quota = new QuotaClient(options.quotaKeeper ?? memoryKeeper(nowMs), { nowMs, maxWaitMs, timeoutMs });
    this.#stopIfSpent();
  }

  /**
   * Sends the request when its turn comes. After a stop it throws; a request in flight still returns its outcome. The
   * loop ends: each turn sends, throws, or waits for the end of an outage, which ends or stops the limiter (R24).
   * @throws the SyncError that stopped the limiter
   */
  async send<V>(request: LimitedRequest<V>, priority: RequestPriority): Promise<V> {
    for (;;) {
      if (this.stopped !== null) throw this.stopped;
      const isBlocked = () => this.#health.isDown && priority !== PRIORITY.probe;
      const turn = this.#queue.add(async () => (isBlocked() ? BLOCKED : this.#sendCounted(request)), { priority });
      this.#dispatch();
      const verdict = await turn.catch((error: unknown) => {
        throw this.stopped ?? error;
      });
      if (verdict !== BLOCKED) return verdict;
      this.#dispatch();
      await this.#health.recovery;
    }
  }

  /**
   * Waits before a retry, outside the queue, so other requests can go meanwhile.
   * @throws like `send`
   */
  async backOff(delayMs: number, about: string): Promise<void> {
    if (this.stopped !== null) throw this.stopped;
    await this.#pause(delayMs, 'retry', about).catch((error: unknown) => {
      throw this.stopped ?? error;
    });
  }

  /** Prevents further requests: waiting calls fail with `reason`. A later stop replaces the reason. */
  stop(reason: SyncError): void {
    this.stopped = reason;
    this.#queue.clear();
    this.#halt.abort();
    this.#health.release();
  }

  /** Waits until the keeper knows how every request ended, and closes it. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    await this.#dispatching;
    await Promise.all(this.#reports);
    await this.quota.close();
  }

  async #sendCounted<V>({ send, judge }: LimitedRequest<V>): Promise<V> {
    const permit = this.#permits.pop();
    if (permit === undefined) throw new Error('A request was started without a permit');
    const sentMs = this.#options.clock.nowMs();
    this.requests++;
    this.#stopIfSpent();
    const sending = send();
    this.#inFlight.add(sending);
    const outcome = await sending;
    this.#inFlight.delete(sending);
    this.#report(this.quota.settleRequest(permit, outcome));
    if (hasPassed(outcome)) this.lastPassMs = Math.max(sentMs, this.lastPassMs ?? sentMs);
    this.#resizeQueue();
    return judge(outcome);
  }

  /** Lets as many queued requests start as there are permits. */
  #resizeQueue(): void {
    const slots = this.#permits.length + this.#inFlight.size;
    if (slots === 0) return void this.#queue.pause();
    this.#queue.concurrency = slots;
    this.#queue.start();
  }

  /** Requests permits while requests are queued and may be in flight. */
  #dispatch(): void {
    this.#demand += 1;
    this.#dispatching ??= this.#startAll();
  }

  async #startAll(): Promise<void> {
    for (let met = -1; met !== this.#demand; ) {
      met = this.#demand;
      try {
        while (await this.#startNext());
      } catch (error) {
        this.stop(keeperFailed(error));
      }
    }
    this.#dispatching = null;
  }

  /** @returns whether there may be more to start */
  async #startNext(): Promise<boolean> {
    if (this.stopped !== null || this.#queue.size === 0) return this.#returnUnused();
    if (this.#permits.length > 0 || this.#inFlight.size >= this.#options.concurrency) return false;
    this.#wake = new AbortController();
    const permit = await this.quota.requestPermit();
    if (permit.kind === 'full') return this.#waitForOthers(permit);
    this.#crowded = null;
    if (permit.kind === 'wait') return this.#waitForQuota(permit);
    this.#permits.push(permit.request);
    this.#resizeQueue();
    return true;
  }

  #returnUnused(): false {
    for (const request of this.#permits.splice(0)) this.#report(this.quota.returnPermit(request));
    this.#resizeQueue();
    return false;
  }

  async #waitForQuota({ delayMs, reason }: { delayMs: number; reason: Pause['reason'] }): Promise<boolean> {
    const { clock, maxWaitMs } = this.#options;
    if (this.stopped !== null) return true;
    if (waitsTooLong(this.quota.ownWindow(), this.quota.nowMs(), maxWaitMs)) {
      this.stop(quotaUsedUp(delayMs, clock.utcMs()));
      return true;
    }
    await this.#pause(delayMs, reason).catch(() => {});
    return true;
  }

  /**
   * Waits a moment while other processes' requests are in flight. They do not report when they end, and no run may wait
   * for them longer than `maxWaitMs`. When a request of this source ends, that triggers the next check.
   */
  async #waitForOthers({ others, untilMs }: Extract<QuotaPermit, { kind: 'full' }>): Promise<boolean> {
    if (others === 0 || this.stopped !== null) return false;
    const { clock, maxWaitMs, random, sleep, onEvent } = this.#options;
    this.#crowded ??= { sinceMs: clock.nowMs(), checks: 0 };
    const leftMs = Math.max(0, untilMs - this.quota.nowMs());
    if (clock.nowMs() - this.#crowded.sinceMs > maxWaitMs) {
      this.stop(quotaUsedUp(leftMs, clock.utcMs()));
      return false;
    }
    if (this.#crowded.checks === SILENT_CHECKS)
      onEvent?.({ type: 'wait', reason: 'quota', delayMs: Math.ceil(leftMs) });
    const delayMs = Math.min(LONGEST_CHECK_MS, FIRST_CHECK_MS * 2 ** this.#crowded.checks++) * (0.5 + random());
    await sleep(delayMs, AbortSignal.any([this.#halt.signal, this.#wake.signal])).catch(() => {});
    return true;
  }

  /** The keeper is told while the response is being used: only the next requests wait for that. */
  #report(reporting: Promise<void>): void {
    const ended = reporting
      .catch((error: unknown) => this.stop(keeperFailed(error)))
      .then(() => {
        this.#reports.delete(ended);
        this.#wake.abort();
        this.#dispatch();
      });
    this.#reports.add(ended);
  }

  /** Sleeps, and reports why. Rejects only after a stop. */
  #pause(delayMs: number, reason: Pause['reason'] | 'retry', about?: string): Promise<void> {
    const { sleep, onEvent } = this.#options;
    const wholeMs = Math.ceil(delayMs);
    onEvent?.({ type: 'wait', reason, delayMs: wholeMs, ...(about === undefined ? {} : { about }) });
    return sleep(wholeMs, this.#halt.signal);
  }

  #stopIfSpent(): void {
    const { maxRequests } = this.#options;
    if (maxRequests === null || this.requests < maxRequests) return;
    this.stop(new SyncError('budget', `Stopped at ${maxRequests} requests (--max-requests): the next run carries on.`));
  }
}

const BLOCKED = Symbol('blocked by an outage');

const FIRST_CHECK_MS = 20;
const LONGEST_CHECK_MS = 320;
/** A wait for others is displayed only if it takes longer than requests usually do. */
const SILENT_CHECKS = 8;

/** Whether the request was not refused (429), and the service itself responded. */
function hasPassed({ answer }: RequestOutcome): boolean {
  return answer !== null && answer.status !== 429 && answer.status < 500;
}

function keeperFailed(error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  return new SyncError('run', "The state of the account's quota cannot be stored.", { cause: error });
}

function quotaUsedUp(delayMs: number, utcMs: number): SyncError {
  const at = new Date(utcMs + delayMs).toISOString().replace(/\.\d+/, '');
  const minutes = Math.max(1, Math.ceil(delayMs / 60_000));
  const when = `${at}, in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new SyncError('quota', `The account's quota is used up: run again at ${when}, or raise --max-wait.`);
}
