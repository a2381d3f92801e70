import { randomUUID } from 'node:crypto';
import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import {
  beginWithQuota,
  type NotedRequest,
  type QuotaPermit,
  type QuotaUser,
  releasePermit,
  settleNoted,
  takePermit,
} from '../core/quota/quota-state.ts';
import { type RateWindow, resumedWindow, UNKNOWN_WINDOW } from '../core/quota/rate-window.ts';
import { isGone, OWN_PROCESS } from './process-owner.ts';
import type { RequestOutcome } from './send.ts';

/** How long after its deadline a request without a report is presumed dead. */
const MARGIN_MS = 15_000;

interface QuotaLimits {
  /** The monotonic clock of this process. */
  readonly nowMs: () => number;
  readonly maxWaitMs: number;
  /** The time limit of one request. */
  readonly timeoutMs: number;
}

/** One source's access to the quota of its account. */
export class QuotaClient {
  /** What an earlier run left, with its end by this process's clock; null if unknown. */
  resumed: { readonly remaining: number; readonly resetAtMs: number } | null = null;
  /** The window as last seen. */
  window: RateWindow = UNKNOWN_WINDOW;
  readonly #keeper: QuotaKeeper;
  readonly #user: QuotaUser;
  readonly #maxWaitMs: number;
  readonly #clock: () => number;
  /** When the first permit was requested, by this process's clock, since the keeper's may be set; null before. */
  #begunMs: number | null = null;
  /** How far the keeper's clock was ahead of ours when the window was last seen. */
  #aheadMs = 0;
  /** How many permits were requested so far. */
  #permitCount = 0;
  /** Requests that have permits, or wait for one, and whose end has not been reported to the keeper. */
  readonly #awaited = new Set<string>();

  constructor(keeper: QuotaKeeper, { nowMs, maxWaitMs, timeoutMs }: QuotaLimits) {
    this.#keeper = keeper;
    this.#clock = nowMs;
    this.#maxWaitMs = maxWaitMs;
    this.#user = {
      owner: `${OWN_PROCESS}/${randomUUID()}`,
      lifetimeMs: timeoutMs + MARGIN_MS,
      isGone,
      awaits: (id) => this.#awaited.has(id),
    };
  }

  async requestPermit(): Promise<QuotaPermit> {
    const user = this.#user;
    const id = `${user.owner}/${++this.#permitCount}`;
    this.#awaited.add(id);
    const requestedMs = this.#clock();
    const permit = await this.#keeper.change((state, atMs) => {
      const known = this.#begunMs === null ? beginWithQuota(state, this.#beginning(atMs), atMs) : state;
      const taken = takePermit(known, { id, user }, atMs);
      this.#see(taken.state.window, atMs);
      return { state: taken.state, result: taken.permit };
    });
    this.#begunMs ??= this.#clock();
    if (permit.kind !== 'go') this.#awaited.delete(id);
    // This process was suspended meanwhile, and others may have presumed it dead.
    if (permit.kind !== 'go' || this.#clock() - requestedMs < user.lifetimeMs) return permit;
    await this.returnPermit(permit.request);
    return this.requestPermit();
  }

  /** Reports how a request ended. */
  async settleRequest(request: NotedRequest, { answer, heardMs }: RequestOutcome): Promise<void> {
    // The keeper reads its clock after this line and before it answers, so the headers arrived no later than computed.
    const agoMs = this.#clock() - heardMs;
    await this.#keeper.change((state, atMs) => {
      const settled = settleNoted(state, request, answer, atMs - agoMs);
      this.#see(settled.window, atMs);
      return { state: settled, result: undefined };
    });
    this.#awaited.delete(request.id);
  }

  async returnPermit(request: NotedRequest): Promise<void> {
    await this.#keeper.change((state) => ({ state: releasePermit(state, request), result: undefined }));
    this.#awaited.delete(request.id);
  }

  /** The keeper's time, as far as known without asking it. */
  nowMs(): number {
    return this.#clock() + this.#aheadMs;
  }

  /** The window as last seen; its refusals only count since this source began. */
  ownWindow(): RateWindow {
    const { refusedSinceMs } = this.window;
    return refusedSinceMs === null || this.#begunMs === null
      ? this.window
      : { ...this.window, refusedSinceMs: Math.max(refusedSinceMs, this.#begunMs + this.#aheadMs) };
  }

  close(): Promise<void> {
    return this.#keeper.close();
  }

  #beginning(atMs: number) {
    const { resumed } = this;
    const window = resumed && resumedWindow(resumed.remaining, atMs + resumed.resetAtMs - this.#clock());
    return { user: this.#user, maxWaitMs: this.#maxWaitMs, resumed: window ?? UNKNOWN_WINDOW };
  }

  #see(window: RateWindow, atMs: number): void {
    this.window = window;
    this.#aheadMs = atMs - this.#clock();
  }
}
