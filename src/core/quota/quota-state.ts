import {
  type AnswerHead,
  mergedWindow,
  observe,
  type Permit,
  permitNow,
  type RateWindow,
  type RequestStart,
  requestStart,
  UNKNOWN_WINDOW,
} from './rate-window.ts';

/**
 * What all processes that use an account know of its quota (R23). Times are milliseconds of the keeper's clock.
 *
 * The quota is never overrun, for the same reason as in one process's window: every request is recorded here before it
 * is sent, and changes are exclusive. A request whose process died counts as sent.
 */
export interface QuotaState {
  readonly window: RateWindow;
  readonly inFlight: readonly NotedRequest[];
}

/** A request in flight, recorded before it was sent. */
export interface NotedRequest extends RequestStart {
  readonly id: string;
  /** The process that sends the request, and the source within it. */
  readonly owner: string;
  /** When the request counts as lost, even if its process has not reported anything. */
  readonly deadlineMs: number;
}

/** A process that takes permits. */
export interface QuotaUser {
  readonly owner: string;
  /** How long one of its requests may be in flight. */
  readonly lifetimeMs: number;
  /** Whether an owner is known to have died. */
  isGone(owner: string): boolean;
  /** Whether it is still waiting for its own request with this id. */
  awaits(id: string): boolean;
}

/** `full`: the maximum is in flight; `others` is how many of those requests belong to other users. */
export type QuotaPermit =
  | { readonly kind: 'go'; readonly request: NotedRequest }
  | { readonly kind: 'full'; readonly others: number; readonly untilMs: number }
  | Extract<Permit, { kind: 'wait' }>;

export const UNKNOWN_QUOTA: QuotaState = { window: UNKNOWN_WINDOW, inFlight: [] };

/** Takes a permit for one request. If granted, the request is recorded in the returned state. */
export function takePermit(
  state: QuotaState,
  { id, user }: { readonly id: string; readonly user: QuotaUser },
  nowMs: number,
): { readonly state: QuotaState; readonly permit: QuotaPermit } {
  const freed = withoutAbandoned(state, user, nowMs);
  // The change may be repeated if it is unknown whether it was stored.
  const noted = freed.inFlight.find((request) => request.id === id);
  if (noted !== undefined) return { state: freed, permit: { kind: 'go', request: noted } };
  const permit = permitNow(freed.window, nowMs);
  if (permit.kind === 'wait') return { state: freed, permit };
  if (freed.inFlight.length >= permit.inFlight) return { state: freed, permit: full(freed.inFlight, user) };
  const { owner, lifetimeMs } = user;
  const request = { ...requestStart(freed.window, nowMs), id, owner, deadlineMs: nowMs + lifetimeMs };
  return { state: { ...freed, inFlight: [...freed.inFlight, request] }, permit: { kind: 'go', request } };
}

function full(inFlight: readonly NotedRequest[], { owner }: QuotaUser): QuotaPermit {
  const others = inFlight.filter((request) => request.owner !== owner);
  return { kind: 'full', others: others.length, untilMs: Math.min(...others.map(({ deadlineMs }) => deadlineMs)) };
}

/**
 * Counts the requests of dead processes as sent, since the service may have counted them. A user knows its own
 * requests: one that it no longer waits for ended while it could not reach this state.
 */
function withoutAbandoned(state: QuotaState, { owner, isGone, awaits }: QuotaUser, nowMs: number): QuotaState {
  const isDead = (request: NotedRequest): boolean =>
    request.owner === owner ? !awaits(request.id) : request.deadlineMs <= nowMs || isGone(request.owner);
  const dead = state.inFlight.filter(isDead);
  if (dead.length === 0) return state;
  return { ...unanswered(state.window, dead, nowMs), inFlight: state.inFlight.filter((each) => !dead.includes(each)) };
}

function unanswered(window: RateWindow, requests: readonly NotedRequest[], nowMs: number): Pick<QuotaState, 'window'> {
  return { window: requests.reduce((before, request) => observe(before, request, null, nowMs), window) };
}

/** How a process continues that cannot share the state: it won't learn how requests end, so all count as sent. */
export function detach({ window, inFlight }: QuotaState, nowMs: number): QuotaState {
  return { ...unanswered({ ...window, uncounted: 0 }, inFlight, nowMs), inFlight: [] };
}

/** Merges the shared state with what a process learned on its own. In doubt, less is left. */
export function mergeQuotaStates(shared: QuotaState, own: QuotaState): QuotaState {
  const { uncounted } = shared.window;
  const inFlight = own.inFlight.map((request) => ({ ...request, uncounted: request.uncounted + uncounted }));
  const known = new Set(inFlight.map(({ id }) => id));
  return {
    window: mergedWindow(shared.window, own.window),
    inFlight: [...shared.inFlight.filter(({ id }) => !known.has(id)), ...inFlight],
  };
}

/** The state after a request ended. `answer` is null without a response; `heardMs` is when its headers arrived. */
export function settleNoted(
  state: QuotaState,
  request: NotedRequest,
  answer: AnswerHead | null,
  heardMs: number,
): QuotaState {
  const noted = state.inFlight.find(({ id }) => id === request.id);
  // Other processes presumed its process dead and counted it already. What a response states is still true.
  if (noted === undefined && answer === null) return state;
  const { sentMs, uncounted } = noted ?? request;
  const start = { sentMs: Math.min(sentMs, heardMs), uncounted: Math.min(uncounted, state.window.uncounted) };
  return { ...releasePermit(state, request), window: observe(state.window, start, answer, heardMs) };
}

/** Returns an unused permit. */
export function releasePermit(state: QuotaState, request: NotedRequest): QuotaState {
  return { ...state, inFlight: state.inFlight.filter(({ id }) => id !== request.id) };
}

/** What a user starts with: the shared state if any of it is still valid, else `resumed`. */
export function beginWithQuota(
  state: QuotaState,
  { user, resumed, maxWaitMs }: { user: QuotaUser; resumed: RateWindow; maxWaitMs: number },
  nowMs: number,
): QuotaState {
  const { window, inFlight } = withoutAbandoned(state, user, nowMs);
  if (inFlight.length > 0) return { window, inFlight };
  const endMs = Math.max(window.resetAtMs, window.pause?.untilMs ?? Number.NEGATIVE_INFINITY);
  const permit = permitNow(window, nowMs);
  // What was recorded in the past may delay a run, but not end it (R1).
  const isTooLong = permit.kind === 'wait' && permit.delayMs > maxWaitMs;
  return endMs > nowMs && !isTooLong ? { window, inFlight } : { window: resumed, inFlight: [] };
}

/** The state with all its times shifted, because the clock they were read from has jumped. */
export function shiftTimes({ window, inFlight }: QuotaState, byMs: number): QuotaState {
  const { resetAtMs, sure, refusedSinceMs, pause } = window;
  return {
    window: {
      ...window,
      resetAtMs: resetAtMs + byMs,
      sure: sure === null ? null : { fromMs: sure.fromMs + byMs, untilMs: sure.untilMs + byMs },
      refusedSinceMs: refusedSinceMs === null ? null : refusedSinceMs + byMs,
      pause: pause === null ? null : { ...pause, untilMs: pause.untilMs + byMs },
    },
    inFlight: inFlight.map((request) => ({
      ...request,
      sentMs: request.sentMs + byMs,
      deadlineMs: request.deadlineMs + byMs,
    })),
  };
}
