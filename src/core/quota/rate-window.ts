import { countHeader, type HeaderValues, retryAfterMs } from './retry-delay.ts';

/**
 * What is known of the account's quota (R23). Times are milliseconds of a monotonic clock that the caller reads.
 *
 * Why the quota is never overrun if nobody else uses the account: the number in a response was true when the service
 * counted that request. Every request counted later is still in flight, or ended without stating a number. `remaining`
 * is the smallest number stated, less the requests that stated none. So it is never more than the service has left, and
 * no request starts beyond it.
 */
export interface RateWindow {
  /** How many requests the window has left, including those in flight; null until a response states it. */
  readonly remaining: number | null;
  /** When the window ends at the latest. Responses round it up to whole seconds; several narrow it down. */
  readonly resetAtMs: number;
  /** A span that surely lies in the window: a request sent and answered in it counts towards it. Null if unknown. */
  readonly sure: TimeSpan | null;
  /** How many requests ended without stating what remains; the service may have counted them. */
  readonly uncounted: number;
  readonly pause: Pause | null;
  /** How many refusals (429) came in a row; those of requests in flight together count once. */
  readonly refusals: number;
  /** When the first of them came; null if the last response was not a refusal. */
  readonly refusedSinceMs: number | null;
}

export interface TimeSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** No request starts before `untilMs`. Then one is sent alone, until its response states what remains. */
export interface Pause {
  readonly untilMs: number;
  readonly reason: 'quota' | 'rate-limited';
}

/** What was known when a request started. */
export interface RequestStart {
  readonly sentMs: number;
  readonly uncounted: number;
}

export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderValues;
}

/** What a response states about its window. */
interface QuotaHeaders {
  readonly remaining: number;
  readonly resetMs: number;
}

export type Permit =
  | { readonly kind: 'go'; readonly inFlight: number }
  | { readonly kind: 'wait'; readonly delayMs: number; readonly reason: Pause['reason'] };

const LEAST_WAIT_MS = 1000;
const LONGEST_UNSTATED_WAIT_MS = 60_000;

/** How far two stated ends of one window may differ, because of whole seconds and the response time. */
const SAME_RESET_MS = 2000;

/** Before the first response, one request may be in flight. */
export const UNKNOWN_WINDOW: RateWindow = {
  remaining: null,
  resetAtMs: Number.NEGATIVE_INFINITY,
  sure: null,
  uncounted: 0,
  pause: { untilMs: Number.NEGATIVE_INFINITY, reason: 'quota' },
  refusals: 0,
  refusedSinceMs: null,
};

/** Before the first response, in a window recorded by an earlier run: no more requests than were left then. */
export function resumedWindow(remaining: number, resetAtMs: number): RateWindow {
  return pausedIfSpent({ ...UNKNOWN_WINDOW, remaining, resetAtMs });
}

export function requestStart(window: RateWindow, nowMs: number): RequestStart {
  return { sentMs: nowMs, uncounted: window.uncounted };
}

/** How many requests may be in flight (`Infinity` if no quota is known), or how long none may start. */
export function permitNow(window: RateWindow, nowMs: number): Permit {
  const { pause, remaining } = window;
  if (pause === null) return { kind: 'go', inFlight: remaining ?? Number.POSITIVE_INFINITY };
  if (nowMs >= pause.untilMs) return { kind: 'go', inFlight: 1 };
  return { kind: 'wait', delayMs: pause.untilMs - nowMs, reason: pause.reason };
}

/** Whether the run should end instead of waiting: one wait, or a series of nothing but 429s, exceeds `maxWaitMs`. */
export function waitsTooLong(window: RateWindow, nowMs: number, maxWaitMs: number): boolean {
  const permit = permitNow(window, nowMs);
  if (permit.kind === 'go') return false;
  if (permit.delayMs > maxWaitMs) return true;
  return window.refusedSinceMs !== null && nowMs - window.refusedSinceMs >= maxWaitMs;
}

/** The window after a request ended. `answer` is null without a response; `nowMs` is when its headers arrived. */
export function observe(window: RateWindow, start: RequestStart, answer: AnswerHead | null, nowMs: number): RateWindow {
  if (answer?.status === 429) return refused(window, start, answer.headers, nowMs);
  const stated = answer === null ? null : quotaHeaders(answer.headers);
  const counted = stated === null ? endedUnstated(window) : statedRemaining(window, start, stated, nowMs);
  return pausedIfSpent(answer === null ? counted : released(counted, start, stated !== null));
}

function endedUnstated(window: RateWindow): RateWindow {
  const remaining = window.remaining === null ? null : Math.max(0, window.remaining - 1);
  return { ...window, remaining, uncounted: window.uncounted + 1 };
}

function statedRemaining(window: RateWindow, start: RequestStart, headers: QuotaHeaders, nowMs: number): RateWindow {
  const { sentMs, uncounted } = start;
  const remaining = Math.max(0, headers.remaining - (window.uncounted - uncounted));
  const resetAtMs = nowMs + headers.resetMs;
  // The service counted it after it was sent, and rounding up adds less than one second.
  const sure = { fromMs: nowMs, untilMs: sentMs + headers.resetMs - SECOND_MS };
  if (opensWindow(window, start, headers.resetMs)) return { ...window, remaining, resetAtMs, sure };
  const least = Math.min(window.remaining ?? remaining, remaining);
  if (window.sure !== null && sentMs >= window.sure.fromMs && nowMs < window.sure.untilMs) {
    const { fromMs, untilMs } = window.sure;
    const longer = { fromMs, untilMs: Math.max(untilMs, sure.untilMs) };
    return { ...window, remaining: least, resetAtMs: Math.min(window.resetAtMs, resetAtMs), sure: longer };
  }
  // The response may belong to this window or to the next one.
  return { ...window, remaining: least, resetAtMs: Math.max(window.resetAtMs, resetAtMs), sure };
}

const SECOND_MS = 1000;

/** Measured from when the request was sent, so a slow response of the old window does not look like a new window. */
function opensWindow(window: RateWindow, { sentMs }: RequestStart, resetMs: number): boolean {
  return sentMs >= window.resetAtMs || sentMs + resetMs > window.resetAtMs + SAME_RESET_MS;
}

/**
 * Any response ends a series of refusals. A pause ends with a response that states what remains, to a request sent
 * after it.
 */
function released(window: RateWindow, start: RequestStart, isStated: boolean): RateWindow {
  const endsPause = isStated || window.remaining === null;
  const stays = window.pause !== null && (!endsPause || start.sentMs < window.pause.untilMs);
  return { ...window, pause: stays ? window.pause : null, refusals: 0, refusedSinceMs: null };
}

function pausedIfSpent(window: RateWindow): RateWindow {
  if (window.remaining !== 0) return window;
  return { ...window, pause: later(window.pause, { untilMs: window.resetAtMs, reason: 'quota' }) };
}

/** Merges what two processes know of a window. In doubt, less is left and the wait is longer. */
export function mergedWindow(one: RateWindow, other: RateWindow): RateWindow {
  const stated = [one.remaining, other.remaining].filter((remaining) => remaining !== null);
  const pauses = [one.pause, other.pause].filter((pause) => pause !== null);
  const refused = [one.refusedSinceMs, other.refusedSinceMs].filter((sinceMs) => sinceMs !== null);
  return pausedIfSpent({
    remaining: stated.length === 0 ? null : Math.min(...stated),
    resetAtMs: Math.max(one.resetAtMs, other.resetAtMs),
    sure: null,
    uncounted: one.uncounted + other.uncounted,
    pause: pauses.reduce<Pause | null>(later, null),
    refusals: Math.max(one.refusals, other.refusals),
    refusedSinceMs: refused.length === 0 ? null : Math.min(...refused),
  });
}

/** The account pauses as long as the refusal states; if it states nothing, longer after each refusal. */
function refused(window: RateWindow, start: RequestStart, values: HeaderValues, nowMs: number): RateWindow {
  const sameMoment = window.refusals > 0 && window.pause !== null && start.sentMs < window.pause.untilMs;
  const refusals = window.refusals + (sameMoment ? 0 : 1);
  const unstatedMs = Math.min(LONGEST_UNSTATED_WAIT_MS, LEAST_WAIT_MS * 2 ** (refusals - 1));
  const statedMs = retryAfterMs(values) ?? resetHeaderMs(values);
  const untilMs = nowMs + Math.max(LEAST_WAIT_MS, statedMs ?? unstatedMs);
  return {
    ...window,
    refusals,
    refusedSinceMs: window.refusedSinceMs ?? nowMs,
    pause: later(window.pause, { untilMs, reason: 'rate-limited' }),
  };
}

function later(a: Pause | null, b: Pause): Pause {
  return a !== null && a.untilMs >= b.untilMs ? a : b;
}

function quotaHeaders(values: HeaderValues): QuotaHeaders | null {
  const remaining = countHeader(values['ratelimit-remaining']);
  return remaining === null ? null : { remaining, resetMs: Math.max(LEAST_WAIT_MS, resetHeaderMs(values) ?? 0) };
}

function resetHeaderMs(values: HeaderValues): number | null {
  const seconds = countHeader(values['ratelimit-reset']);
  return seconds === null ? null : seconds * 1000;
}
