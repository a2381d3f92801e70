import {
  type AnswerHead,
  joinedWindow,
  observe,
  type Permit,
  permitNow,
  type RateWindow,
  type RequestStart,
  requestStart,
  UNKNOWN_WINDOW,
} from './rate-window.ts';

/**
 * What all processes that use one account know of its quota together (R23). Times are milliseconds of the clock of its
 * keeper.
 *
 * It is never overrun, for the same reason as the window of one process: every request is noted here before it is sent,
 * and each change is made by one process at a time. A request of a process that died counts as sent.
 */
export interface QuotaState {
  readonly window: RateWindow;
  readonly inFlight: readonly NotedRequest[];
}

/** A request in flight, as it was noted before it was sent. */
export interface NotedRequest extends RequestStart {
  readonly id: string;
  /** The process, and the source in it, that sends the request. */
  readonly owner: string;
  /** When nobody waits for its answer any more, even if its process says nothing. */
  readonly deadlineMs: number;
}

/** Who asks for permits. */
export interface QuotaUser {
  readonly owner: string;
  /** How long a request of it may be in flight. */
  readonly lifetimeMs: number;
  /** Whether an owner is known to have died. */
  isGone(owner: string): boolean;
  /** Whether it still waits for its own request of this id. */
  awaits(id: string): boolean;
}

/** `full`: as many requests are in flight as may be. `others` tells how many of them are not this user's own. */
export type QuotaPermit =
  | { readonly kind: 'go'; readonly request: NotedRequest }
  | { readonly kind: 'full'; readonly others: number; readonly untilMs: number }
  | Extract<Permit, { kind: 'wait' }>;

export const UNKNOWN_QUOTA: QuotaState = { window: UNKNOWN_WINDOW, inFlight: [] };

/** Asks for one request. If it may be sent, it is in the state that is returned. */
export function takePermit(
  state: QuotaState,
  { id, user }: { readonly id: string; readonly user: QuotaUser },
  nowMs: number,
): { readonly state: QuotaState; readonly permit: QuotaPermit } {
  const freed = withoutAbandoned(state, user, nowMs);
  // The same change may be made again, when nobody knows whether it was made.
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
 * The service may have counted the requests of the dead. A user knows its own: one that it does not wait for has ended
 * while this state was out of its reach.
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

/**
 * What one process goes on with while it cannot share the state. It will not hear how the requests in flight end, so
 * all count as sent.
 */
export function detach({ window, inFlight }: QuotaState, nowMs: number): QuotaState {
  return { ...unanswered({ ...window, uncounted: 0 }, inFlight, nowMs), inFlight: [] };
}

/** What others share, with what a process learned apart from them. In doubt less is left. */
export function mergeQuotaStates(shared: QuotaState, own: QuotaState): QuotaState {
  const { uncounted } = shared.window;
  const inFlight = own.inFlight.map((request) => ({ ...request, uncounted: request.uncounted + uncounted }));
  const known = new Set(inFlight.map(({ id }) => id));
  return {
    window: joinedWindow(shared.window, own.window),
    inFlight: [...shared.inFlight.filter(({ id }) => !known.has(id)), ...inFlight],
  };
}

/** The state after a request ended. `answer` is null if none came; `heardMs` is when its headers came. */
export function settleNoted(
  state: QuotaState,
  request: NotedRequest,
  answer: AnswerHead | null,
  heardMs: number,
): QuotaState {
  const noted = state.inFlight.find(({ id }) => id === request.id);
  // Others held its process for dead: it is counted already. What its answer states holds all the same.
  if (noted === undefined && answer === null) return state;
  const { sentMs, uncounted } = noted ?? request;
  const start = { sentMs: Math.min(sentMs, heardMs), uncounted: Math.min(uncounted, state.window.uncounted) };
  return { window: observe(state.window, start, answer, heardMs), inFlight: without(state, request) };
}

/** The state after a permit was not used. */
export function releasePermit(state: QuotaState, request: NotedRequest): QuotaState {
  return { ...state, inFlight: without(state, request) };
}

function without({ inFlight }: QuotaState, request: NotedRequest): readonly NotedRequest[] {
  return inFlight.filter(({ id }) => id !== request.id);
}

/** What a user begins with: what the others know, if anything of it still holds; else `resumed`. */
export function beginWithQuota(
  state: QuotaState,
  { user, resumed, maxWaitMs }: { user: QuotaUser; resumed: RateWindow; maxWaitMs: number },
  nowMs: number,
): QuotaState {
  const { window, inFlight } = withoutAbandoned(state, user, nowMs);
  if (inFlight.length > 0) return { window, inFlight };
  const endMs = Math.max(window.resetAtMs, window.pause?.untilMs ?? Number.NEGATIVE_INFINITY);
  const permit = permitNow(window, nowMs);
  // What was noted in the past may delay a run, but not end it (R1).
  const isTooLong = permit.kind === 'wait' && permit.delayMs > maxWaitMs;
  return endMs > nowMs && !isTooLong ? { window, inFlight } : { window: resumed, inFlight: [] };
}

/** All times of the state moved, because the clock that they were read from has jumped. */
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
