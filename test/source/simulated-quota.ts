import {
  type AnswerHead,
  observe,
  permitNow,
  type RequestStart,
  requestStart,
  UNKNOWN_WINDOW,
} from '../../src/core/quota/rate-window.ts';

/** The quota headers of an answer by short name. */
export interface Wording {
  status?: number;
  remaining?: number | string;
  reset?: number | string;
  after?: string;
  date?: string;
}

export function answerHead({ status = 200, remaining, reset, after, date }: Wording): AnswerHead {
  const headers = {
    'ratelimit-remaining': remaining?.toString(),
    'ratelimit-reset': reset?.toString(),
    'retry-after': after,
    date,
  };
  return { status, headers };
}

/** A service whose windows are aligned to the clock, or begin with a request. Both kinds exist. */
export interface Service {
  readonly quota: number;
  readonly lengthMs: number;
  readonly startMs: number;
  readonly onGrid: boolean;
}

export interface Play {
  readonly service: Service;
  readonly concurrency: number;
  /** The delays there and back, and whether the response is lost. The list repeats until all requests are sent. */
  readonly ways: readonly Way[];
  readonly requests: number;
}

interface Way {
  readonly thereMs: number;
  readonly backMs: number;
  readonly silent: boolean;
}

interface Traveller extends Way {
  readonly departure: RequestStart;
  /** When the request reaches the service, or its response arrives. */
  atMs: number;
  answer: AnswerHead | null;
}

/** Simulates all requests in virtual time: their delays decide in which order they arrive and return. */
export function play({ service, concurrency, ways, requests }: Play) {
  const { answer, usedPerWindow } = serve(service);
  const inFlight: Traveller[] = [];
  let window = UNKNOWN_WINDOW;
  let nowMs = 0;
  let refusals = 0;

  const start = (way: Way) => {
    // If the response to a single request is lost, it is unknown whether the request was counted.
    const silent = way.silent && window.pause === null;
    inFlight.push({ ...way, silent, departure: requestStart(window, nowMs), atMs: nowMs + way.thereMs, answer: null });
  };
  const step = () => {
    const next = inFlight.reduce((a, b) => (b.atMs < a.atMs ? b : a));
    nowMs = next.atMs;
    if (next.answer === null) {
      next.answer = answer(nowMs);
      next.atMs += next.backMs;
      if (next.answer.status === 429) refusals++;
      return;
    }
    inFlight.splice(inFlight.indexOf(next), 1);
    window = observe(window, next.departure, next.silent ? null : next.answer, nowMs);
  };

  for (let sent = 0; sent < requests || inFlight.length > 0; ) {
    const allowance = permitNow(window, nowMs);
    const room = allowance.kind === 'go' ? Math.min(concurrency, allowance.inFlight) - inFlight.length : 0;
    if (sent < requests && room > 0) start(ways[sent++ % ways.length] as Way);
    else if (inFlight.length > 0) step();
    else if (allowance.kind === 'wait') nowMs += allowance.delayMs;
  }
  return { refusals, usedPerWindow };
}

/** The service: counts every request that reaches it, and refuses those beyond the quota. */
function serve({ quota, lengthMs, startMs, onGrid }: Service) {
  const usedPerWindow: number[] = [];
  let endMs = startMs;
  const answer = (nowMs: number): AnswerHead => {
    if (nowMs >= endMs) {
      const beginMs = onGrid ? nowMs - ((nowMs - endMs) % lengthMs) : nowMs;
      endMs = beginMs + lengthMs;
      usedPerWindow.push(0);
    }
    const used = (usedPerWindow.pop() ?? 0) + 1;
    usedPerWindow.push(Math.min(used, quota));
    const reset = Math.max(1, Math.ceil((endMs - nowMs) / 1000));
    return answerHead(used > quota ? { status: 429, after: `${reset}` } : { remaining: quota - used, reset });
  };
  return { answer, usedPerWindow };
}
