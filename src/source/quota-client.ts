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

/** One source's access to the quota of its account. */
export interface QuotaClient {
  readonly keeper: QuotaKeeper;
  readonly user: QuotaUser;
  readonly maxWaitMs: number;
  /** The monotonic clock of this process. */
  readonly nowMs: () => number;
  /** What an earlier run left, with its end by this process's clock; null if unknown. */
  resumed: { readonly remaining: number; readonly resetAtMs: number } | null;
  /** When the first permit was requested, by this process's clock, since the keeper's may be set; null before. */
  begunMs: number | null;
  /** The window as last seen. */
  window: RateWindow;
  /** How far the keeper's clock was ahead of ours then. */
  aheadMs: number;
  /** How many permits were requested so far. */
  permitCount: number;
  /** Requests that have permits, or wait for one, and whose end has not been reported to the keeper. */
  readonly awaited: Set<string>;
}

/** How long after its deadline a request without a report is presumed dead. */
const MARGIN_MS = 15_000;

export function openQuotaClient(
  keeper: QuotaKeeper,
  options: Pick<QuotaClient, 'maxWaitMs' | 'nowMs'> & { readonly timeoutMs: number },
): QuotaClient {
  const { maxWaitMs, nowMs, timeoutMs } = options;
  const awaited = new Set<string>();
  return {
    keeper,
    user: {
      owner: `${OWN_PROCESS}/${randomUUID()}`,
      lifetimeMs: timeoutMs + MARGIN_MS,
      isGone,
      awaits: (id) => awaited.has(id),
    },
    maxWaitMs,
    nowMs,
    resumed: null,
    begunMs: null,
    window: UNKNOWN_WINDOW,
    aheadMs: 0,
    permitCount: 0,
    awaited,
  };
}

export async function requestPermit(client: QuotaClient): Promise<QuotaPermit> {
  const { keeper, user, nowMs, awaited } = client;
  const id = `${user.owner}/${++client.permitCount}`;
  awaited.add(id);
  const requestedMs = nowMs();
  const permit = await keeper.change((state, atMs) => {
    const known = client.begunMs === null ? beginWithQuota(state, beginning(client, atMs), atMs) : state;
    const taken = takePermit(known, { id, user }, atMs);
    see(client, taken.state.window, atMs);
    return { state: taken.state, result: taken.permit };
  });
  client.begunMs ??= nowMs();
  if (permit.kind !== 'go') awaited.delete(id);
  // This process was suspended meanwhile, and others may have presumed it dead.
  if (permit.kind !== 'go' || nowMs() - requestedMs < user.lifetimeMs) return permit;
  await returnPermit(client, permit.request);
  return requestPermit(client);
}

function beginning({ user, maxWaitMs, resumed, nowMs }: QuotaClient, atMs: number) {
  const window = resumed && resumedWindow(resumed.remaining, atMs + resumed.resetAtMs - nowMs());
  return { user, maxWaitMs, resumed: window ?? UNKNOWN_WINDOW };
}

/** Reports how a request ended. */
export async function settleRequest(
  client: QuotaClient,
  request: NotedRequest,
  { answer, heardMs }: RequestOutcome,
): Promise<void> {
  const { keeper, nowMs, awaited } = client;
  // The keeper reads its clock after this line and before it answers, so the headers arrived no later than computed.
  const agoMs = nowMs() - heardMs;
  await keeper.change((state, atMs) => {
    const settled = settleNoted(state, request, answer, atMs - agoMs);
    see(client, settled.window, atMs);
    return { state: settled, result: undefined };
  });
  awaited.delete(request.id);
}

export async function returnPermit({ keeper, awaited }: QuotaClient, request: NotedRequest): Promise<void> {
  await keeper.change((state) => ({ state: releasePermit(state, request), result: undefined }));
  awaited.delete(request.id);
}

function see(client: QuotaClient, window: RateWindow, atMs: number): void {
  client.window = window;
  client.aheadMs = atMs - client.nowMs();
}

/** The keeper's time, as far as known without asking it. */
export function quotaNowMs({ nowMs, aheadMs }: QuotaClient): number {
  return nowMs() + aheadMs;
}

/** The window as last seen; its refusals only count since this source began. */
export function windowOf({ window, begunMs, aheadMs }: QuotaClient): RateWindow {
  const { refusedSinceMs } = window;
  return refusedSinceMs === null || begunMs === null
    ? window
    : { ...window, refusedSinceMs: Math.max(refusedSinceMs, begunMs + aheadMs) };
}
