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
  /** Our own monotonic clock. */
  readonly nowMs: () => number;
  /** What an earlier run left, its end by our own clock; null if nothing is known. */
  resumed: { readonly remaining: number; readonly resetAtMs: number } | null;
  /** When the first permit was asked for, by the keeper's clock; null before. */
  begunMs: number | null;
  /** The window as it was seen last. */
  window: RateWindow;
  /** By how much the keeper's clock was ahead of our own then. */
  aheadMs: number;
  /** How many permits were asked for so far. */
  asked: number;
  /** The requests that were asked for and have not ended, as far as the keeper was told. */
  readonly awaited: Set<string>;
}

/** A request whose process says nothing is held for dead this long after it must have ended. */
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
    asked: 0,
    awaited,
  };
}

/** Asks for the permit to send one request. */
export async function askPermit(client: QuotaClient): Promise<QuotaPermit> {
  const { keeper, user, nowMs, awaited } = client;
  const id = `${user.owner}/${++client.asked}`;
  awaited.add(id);
  const askedMs = nowMs();
  const { permit, atMs } = await keeper.change((state, atMs) => {
    const known = client.begunMs === null ? beginWithQuota(state, beginning(client, atMs), atMs) : state;
    const taken = takePermit(known, { id, user }, atMs);
    see(client, taken.state.window, atMs);
    return { state: taken.state, result: { permit: taken.permit, atMs } };
  });
  client.begunMs ??= atMs;
  if (permit.kind !== 'go') awaited.delete(id);
  // The process was stopped meanwhile, and others may hold it for dead.
  if (permit.kind !== 'go' || nowMs() - askedMs < user.lifetimeMs) return permit;
  await returnPermit(client, permit.request);
  return askPermit(client);
}

function beginning({ user, maxWaitMs, resumed, nowMs }: QuotaClient, atMs: number) {
  const window = resumed && resumedWindow(resumed.remaining, atMs + resumed.resetAtMs - nowMs());
  return { user, maxWaitMs, resumed: window ?? UNKNOWN_WINDOW };
}

/** Tells how a request ended. */
export async function settleRequest(
  client: QuotaClient,
  request: NotedRequest,
  { answer, heardMs }: RequestOutcome,
): Promise<void> {
  const { keeper, nowMs, awaited } = client;
  // The keeper's clock is read after this and before its answer is here, so the headers came no later than this says.
  const agoMs = nowMs() - heardMs;
  await keeper.change((state, atMs) => {
    const settled = settleNoted(state, request, answer, atMs - agoMs);
    see(client, settled.window, atMs);
    return { state: settled, result: undefined };
  });
  awaited.delete(request.id);
}

/** Gives a permit back that is not used. */
export async function returnPermit({ keeper, awaited }: QuotaClient, request: NotedRequest): Promise<void> {
  await keeper.change((state) => ({ state: releasePermit(state, request), result: undefined }));
  awaited.delete(request.id);
}

function see(client: QuotaClient, window: RateWindow, atMs: number): void {
  client.window = window;
  client.aheadMs = atMs - client.nowMs();
}

/** The keeper's time, as far as it is known without asking. */
export function quotaNowMs({ nowMs, aheadMs }: QuotaClient): number {
  return nowMs() + aheadMs;
}

/** The window as it was seen last; of refusals, only those since this source began. */
export function windowOf({ window, begunMs }: QuotaClient): RateWindow {
  const { refusedSinceMs } = window;
  return refusedSinceMs === null || begunMs === null
    ? window
    : { ...window, refusedSinceMs: Math.max(refusedSinceMs, begunMs) };
}
