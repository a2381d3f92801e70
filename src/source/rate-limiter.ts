import { isAway, listFailed, NO_OUTAGE } from '../core/quota/outage.ts';
import { dispatch, fitQueue, report } from './dispatch.ts';
import { pause, type RateLimiter, releaseAll, stopIfSpent } from './limiter-state.ts';
import { settleRequest } from './quota-client.ts';
import type { RequestOutcome } from './send.ts';

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
    dispatch(rateLimiter);
    const verdict = await turn.catch((error: unknown) => {
      throw rateLimiter.stopped ?? error;
    });
    if (verdict !== HELD_UP) return verdict;
    dispatch(rateLimiter);
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

/** Waits before a further try, outside the queue, so that other requests can go meanwhile. Throws like `pass`. */
export async function backOff(rateLimiter: RateLimiter, delayMs: number, about: string): Promise<void> {
  if (rateLimiter.stopped !== null) throw rateLimiter.stopped;
  await pause(rateLimiter, delayMs, 'retry', about).catch((error: unknown) => {
    throw rateLimiter.stopped ?? error;
  });
}

async function sendCounted<V>(rateLimiter: RateLimiter, gatedRequest: GatedRequest<V>): Promise<V> {
  const request = rateLimiter.permits.pop();
  if (request === undefined) throw new Error('A request was started without a permit');
  const sentMs = rateLimiter.options.clock.nowMs();
  rateLimiter.requests++;
  stopIfSpent(rateLimiter);
  const sending = gatedRequest.send();
  rateLimiter.sending.add(sending);
  const outcome = await sending;
  rateLimiter.sending.delete(sending);
  report(rateLimiter, settleRequest(rateLimiter.quota, request, outcome));
  if (hasPassed(outcome)) rateLimiter.lastPassMs = Math.max(sentMs, rateLimiter.lastPassMs ?? sentMs);
  fitQueue(rateLimiter);
  return gatedRequest.judge(outcome);
}

/** The request was not refused (429), and the service itself answered. */
function hasPassed({ answer }: RequestOutcome): boolean {
  return answer !== null && answer.status !== 429 && answer.status < 500;
}

/** Waits until the keeper knows how every request ended, and closes it. */
export async function closeQuota(rateLimiter: RateLimiter): Promise<void> {
  await Promise.allSettled(rateLimiter.sending);
  await rateLimiter.dispatched;
  await Promise.all(rateLimiter.reports);
  await rateLimiter.quota.keeper.close();
}
