import { countHeader, type HeaderValues, retryAfterMs } from './retry-delay.ts';

/**
 * What is known of the account's quota (R23). Times are milliseconds of one monotonic clock that the caller reads.
 *
 * Why it never overruns when alone: what an answer says remains was true when the service counted that request, and
 * everything counted later is still in flight or ended silently. So `remaining` (the least seen, less the silent ones)
 * never exceeds what is left for the requests in flight, and no request starts beyond it.
 */
export interface RateWindow {
  /** Requests the window has left for those in flight and those to come; null while no answer has ever told. */
  readonly remaining: number | null;
  /** The latest end of the window that one of its answers named. */
  readonly resetAtMs: number;
  /** Requests that ended without telling what remains; the service may have counted them. */
  readonly uncounted: number;
  readonly pause: Pause | null;
  /** Refusals (429) in a row, those of one moment counted once. */
  readonly refusals: number;
  /** When the first of them came; null unless the last answer was one. */
  readonly refusedSinceMs: number | null;
}

/** Nothing starts before `untilMs`; then one request alone, until its answer tells. */
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

/** What an answer says of its window. */
interface QuotaHeaders {
  readonly remaining: number;
  readonly resetMs: number;
}

export type Permit =
  | { readonly kind: 'go'; readonly inFlight: number }
  | { readonly kind: 'wait'; readonly delayMs: number; readonly reason: Pause['reason'] };

const LEAST_WAIT_MS = 1000;
const LONGEST_UNNAMED_WAIT_MS = 60_000;

/** Whole seconds and the way back blur a reset point by up to this much. */
const SAME_RESET_MS = 2000;

/** Before the first answer: one request in flight. */
export const UNKNOWN_WINDOW: RateWindow = {
  remaining: null,
  resetAtMs: Number.NEGATIVE_INFINITY,
  uncounted: 0,
  pause: { untilMs: Number.NEGATIVE_INFINITY, reason: 'quota' },
  refusals: 0,
  refusedSinceMs: null,
};

/** Before the first answer, in a window of which an earlier run has told: what was left then is all there is. */
export function resumedWindow(remaining: number, resetAtMs: number): RateWindow {
  return pausedIfSpent({ ...UNKNOWN_WINDOW, remaining, resetAtMs });
}

export function requestStart(window: RateWindow, nowMs: number): RequestStart {
  return { sentMs: nowMs, uncounted: window.uncounted };
}

/** How many requests may be in flight (`Infinity` without a known quota), or how long none may start. */
export function permitNow(window: RateWindow, nowMs: number): Permit {
  const { pause, remaining } = window;
  if (pause === null) return { kind: 'go', inFlight: remaining ?? Number.POSITIVE_INFINITY };
  if (nowMs >= pause.untilMs) return { kind: 'go', inFlight: 1 };
  return { kind: 'wait', delayMs: pause.untilMs - nowMs, reason: pause.reason };
}

/** Whether the run should end rather than wait on: one wait longer than `maxWaitMs`, or only 429s for so long. */
export function waitsTooLong(window: RateWindow, nowMs: number, maxWaitMs: number): boolean {
  const allowance = permitNow(window, nowMs);
  if (allowance.kind === 'go') return false;
  if (allowance.delayMs > maxWaitMs) return true;
  return window.refusedSinceMs !== null && nowMs - window.refusedSinceMs >= maxWaitMs;
}

/** The window after a request ended; `answer` is null when it brought none, `nowMs` is when its headers came. */
export function observe(
  window: RateWindow,
  requestStart: RequestStart,
  answer: AnswerHead | null,
  nowMs: number,
): RateWindow {
  if (answer?.status === 429) return refused(window, requestStart, answer.headers, nowMs);
  const told = answer === null ? null : quotaHeaders(answer.headers);
  const counted = told === null ? endedSilently(window) : toldRemaining(window, requestStart, told, nowMs);
  return pausedIfSpent(answer === null ? counted : released(counted, requestStart, told !== null));
}

function endedSilently(window: RateWindow): RateWindow {
  const remaining = window.remaining === null ? null : Math.max(0, window.remaining - 1);
  return { ...window, remaining, uncounted: window.uncounted + 1 };
}

function toldRemaining(
  window: RateWindow,
  requestStart: RequestStart,
  quotaHeaders: QuotaHeaders,
  nowMs: number,
): RateWindow {
  const unseen = window.uncounted - requestStart.uncounted;
  const remaining = Math.max(0, quotaHeaders.remaining - unseen);
  const resetAtMs = nowMs + quotaHeaders.resetMs;
  if (opensWindow(window, requestStart, quotaHeaders.resetMs)) return { ...window, remaining, resetAtMs };
  return {
    ...window,
    remaining: Math.min(window.remaining ?? remaining, remaining),
    resetAtMs: Math.max(window.resetAtMs, resetAtMs),
  };
}

/** Reckoned from when the request was sent: a slow answer of the old window must not look like a new one. */
function opensWindow(window: RateWindow, { sentMs }: RequestStart, resetMs: number): boolean {
  return sentMs >= window.resetAtMs || sentMs + resetMs > window.resetAtMs + SAME_RESET_MS;
}

/** Any answer ends a row of refusals; a hold is lifted by one that was asked for after it and tells where we stand. */
function released(window: RateWindow, requestStart: RequestStart, told: boolean): RateWindow {
  const lifts = told || window.remaining === null;
  const stays = window.pause !== null && (!lifts || requestStart.sentMs < window.pause.untilMs);
  return { ...window, pause: stays ? window.pause : null, refusals: 0, refusedSinceMs: null };
}

function pausedIfSpent(window: RateWindow): RateWindow {
  if (window.remaining !== 0) return window;
  return { ...window, pause: later(window.pause, { untilMs: window.resetAtMs, reason: 'quota' }) };
}

/** The account pauses for as long as the refusal names, or ever longer when it names nothing. */
function refused(
  window: RateWindow,
  requestStart: RequestStart,
  headerValues: HeaderValues,
  nowMs: number,
): RateWindow {
  const sameMoment = window.refusals > 0 && window.pause !== null && requestStart.sentMs < window.pause.untilMs;
  const refusals = window.refusals + (sameMoment ? 0 : 1);
  const unnamedMs = Math.min(LONGEST_UNNAMED_WAIT_MS, LEAST_WAIT_MS * 2 ** (refusals - 1));
  const namedMs = retryAfterMs(headerValues) ?? resetHeaderMs(headerValues);
  const untilMs = nowMs + Math.max(LEAST_WAIT_MS, namedMs ?? unnamedMs);
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

function quotaHeaders(headerValues: HeaderValues): QuotaHeaders | null {
  const remaining = countHeader(headerValues['ratelimit-remaining']);
  return remaining === null ? null : { remaining, resetMs: Math.max(LEAST_WAIT_MS, resetHeaderMs(headerValues) ?? 0) };
}

function resetHeaderMs(headerValues: HeaderValues): number | null {
  const seconds = countHeader(headerValues['ratelimit-reset']);
  return seconds === null ? null : seconds * 1000;
}
