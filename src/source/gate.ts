import PQueue from 'p-queue';
import { SyncError } from '../core/errors.ts';
import {
  allowed,
  depart,
  type Hold,
  observe,
  type RateWindow,
  UNKNOWN_WINDOW,
  waitsTooLong,
} from '../core/rate-window.ts';
import type { SourceEvent } from '../core/source.ts';
import type { Outcome } from './send.ts';

/** Time as the source needs it, passed in so that tests need not wait. */
interface Clock {
  /** Milliseconds that never run backwards. */
  nowMs(): number;
  /** Milliseconds since 1970, only shown to people. */
  utcMs(): number;
}

export interface GateOptions {
  readonly concurrency: number;
  readonly maxWaitMs: number;
  /** Requests that may be sent; null without limit. */
  readonly maxRequests: number | null;
  readonly clock: Clock;
  /** Resolves after the delay; rejects when the signal aborts, and for nothing else. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent?: ((event: SourceEvent) => void) | undefined;
}

/** The one way out to the account: keeps its quota (R23), the request budget and the stop. */
export interface Gate {
  readonly options: GateOptions;
  /** Holds the requests that wait for their turn and those in flight, and nothing else. */
  readonly queue: PQueue;
  /** Wakes whoever sleeps once the gate has been stopped. */
  readonly halt: AbortController;
  window: RateWindow;
  /** Whether the queue is paused and somebody will wake it. */
  waiting: boolean;
  /** Requests sent so far. */
  requests: number;
  /** Why nothing starts any more; null while the gate is open. */
  stopped: SyncError | null;
}

export function openGate(options: GateOptions): Gate {
  const gate: Gate = {
    options,
    queue: new PQueue({ concurrency: 1 }),
    halt: new AbortController(),
    window: UNKNOWN_WINDOW,
    waiting: false,
    requests: 0,
    stopped: null,
  };
  stopIfSpent(gate);
  return gate;
}

/**
 * Sends when it is this request's turn; a repeated one goes before new ones. Throws what the gate was stopped with,
 * but a request already in flight still brings its outcome.
 */
export async function pass(gate: Gate, send: () => Promise<Outcome>, repeated: boolean): Promise<Outcome> {
  if (gate.stopped !== null) throw gate.stopped;
  const turn = gate.queue.add(() => sendCounted(gate, send), { priority: repeated ? 1 : 0 });
  regulate(gate);
  return turn.catch((error: unknown) => {
    throw gate.stopped ?? error;
  });
}

/** Waits before a further try, outside the queue, so that others may go meanwhile. Throws like `pass`. */
export async function backOff(gate: Gate, delayMs: number): Promise<void> {
  if (gate.stopped !== null) throw gate.stopped;
  await pause(gate, delayMs, 'retry').catch((error: unknown) => {
    throw gate.stopped ?? error;
  });
}

/** From now on nothing starts: whoever waits gets `reason`. A later stop replaces the reason. */
export function stop(gate: Gate, reason: SyncError): void {
  gate.stopped = reason;
  gate.queue.clear();
  gate.halt.abort();
}

async function sendCounted(gate: Gate, send: () => Promise<Outcome>): Promise<Outcome> {
  const departure = depart(gate.window, gate.options.clock.nowMs());
  gate.requests++;
  stopIfSpent(gate);
  const outcome = await send();
  gate.window = observe(gate.window, departure, outcome.answer, outcome.heardMs);
  regulate(gate);
  return outcome;
}

/** Sets the queue to what the window allows now; while it allows nothing, waits if anyone is queued. */
function regulate(gate: Gate): void {
  if (gate.stopped !== null || gate.waiting) return;
  const allowance = allowed(gate.window, gate.options.clock.nowMs());
  if (allowance.kind === 'go') {
    gate.queue.concurrency = Math.min(gate.options.concurrency, allowance.inFlight);
    gate.queue.start();
    return;
  }
  gate.queue.pause();
  if (gate.queue.size > 0) void waitFor(gate, allowance);
}

async function waitFor(gate: Gate, { delayMs, reason }: { delayMs: number; reason: Hold['reason'] }): Promise<void> {
  const { clock, maxWaitMs } = gate.options;
  if (waitsTooLong(gate.window, clock.nowMs(), maxWaitMs)) return stop(gate, comeBack(delayMs, clock.utcMs()));
  gate.waiting = true;
  await pause(gate, delayMs, reason).catch(() => {});
  gate.waiting = false;
  regulate(gate);
}

function pause({ options, halt }: Gate, delayMs: number, reason: Hold['reason'] | 'retry'): Promise<void> {
  const wholeMs = Math.ceil(delayMs);
  options.onEvent?.({ type: 'wait', reason, delayMs: wholeMs });
  return options.sleep(wholeMs, halt.signal);
}

function stopIfSpent(gate: Gate): void {
  const { maxRequests } = gate.options;
  if (maxRequests === null || gate.requests < maxRequests) return;
  stop(gate, new SyncError('budget', `Stopped at ${maxRequests} requests (--max-requests): the next run carries on.`));
}

function comeBack(delayMs: number, utcMs: number): SyncError {
  const at = new Date(utcMs + delayMs).toISOString().replace(/\.\d+/, '');
  const minutes = Math.max(1, Math.ceil(delayMs / 60_000));
  const when = `${at}, in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new SyncError('quota', `The account's quota is used up: come back at ${when}, or raise --max-wait.`);
}
