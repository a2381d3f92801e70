import PQueue from 'p-queue';
import { SyncError } from '../core/errors.ts';
import { isAway, listFailed, NO_OUTAGE, type Outage } from '../core/outage.ts';
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
  /** When the last request was sent that the limiter let pass; null while none has been. */
  lastPassMs: number | null;
  outage: Outage;
  /** Settled when the outage is over or the gate stopped; null unless somebody probes the service. */
  back: PromiseWithResolvers<void> | null;
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
    lastPassMs: null,
    outage: NO_OUTAGE,
    back: null,
    waiting: false,
    requests: 0,
    stopped: null,
  };
  stopIfSpent(gate);
  return gate;
}

/**
 * Who goes first. A refused request goes after those that were not: whether they pass tells whether the account is refused or
 * it alone (R9). While the service is away nothing but the probe goes (R24).
 */
export const PRIORITY = { probe: 2, again: 1, fresh: 0, refused: -1 } as const;

type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** A request, and what its outcome means: that is settled before the next one has its turn. */
export interface Sending<V> {
  send(): Promise<Outcome>;
  judge(outcome: Outcome): V;
}

/**
 * Sends when it is this request's turn. Throws what the gate was stopped with, but a request already in flight still brings
 * its outcome. It ends: every turn sends, throws, or waits for the end of an outage, which has one or stops the gate (R24).
 */
export async function pass<V>(gate: Gate, sending: Sending<V>, priority: Priority): Promise<V> {
  for (;;) {
    if (gate.stopped !== null) throw gate.stopped;
    const isHeldUp = () => isAway(gate.outage) && priority !== PRIORITY.probe;
    const turn = gate.queue.add(async () => (isHeldUp() ? HELD_UP : sendCounted(gate, sending)), { priority });
    regulate(gate);
    const verdict = await turn.catch((error: unknown) => {
      throw gate.stopped ?? error;
    });
    if (verdict !== HELD_UP) return verdict;
    await gate.back?.promise;
  }
}

const HELD_UP = Symbol('held up');

/** The list at this path could not be had: when several cannot, the service is away (R24). */
export function noteFailure(gate: Gate, path: readonly string[]): void {
  gate.outage = listFailed(gate.outage, path);
}

/** The service has answered, whatever it said. */
export function noteAnswer(gate: Gate): void {
  gate.outage = NO_OUTAGE;
  letGo(gate);
}

/** Before the first request: what is known of the window under way (R23). */
export function resume(gate: Gate, window: RateWindow): void {
  gate.window = window;
  regulate(gate);
}

/** Waits before a further try, outside the queue, so that others may go meanwhile. Throws like `pass`. */
export async function backOff(gate: Gate, delayMs: number, about: string): Promise<void> {
  if (gate.stopped !== null) throw gate.stopped;
  await pause(gate, delayMs, 'retry', about).catch((error: unknown) => {
    throw gate.stopped ?? error;
  });
}

/** From now on nothing starts: whoever waits gets `reason`. A later stop replaces the reason. */
export function stop(gate: Gate, reason: SyncError): void {
  gate.stopped = reason;
  gate.queue.clear();
  gate.halt.abort();
  letGo(gate);
}

function letGo(gate: Gate): void {
  gate.back?.resolve();
  gate.back = null;
}

async function sendCounted<V>(gate: Gate, sending: Sending<V>): Promise<V> {
  const departure = depart(gate.window, gate.options.clock.nowMs());
  gate.requests++;
  stopIfSpent(gate);
  const outcome = await sending.send();
  gate.window = observe(gate.window, departure, outcome.answer, outcome.heardMs);
  if (hasPassed(outcome)) gate.lastPassMs = Math.max(departure.sentMs, gate.lastPassMs ?? departure.sentMs);
  const verdict = sending.judge(outcome);
  regulate(gate);
  return verdict;
}

/** The limiter let it pass, and something behind it answered. */
function hasPassed({ answer }: Outcome): boolean {
  return answer !== null && answer.status !== 429 && answer.status < 500;
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

function pause(
  { options, halt }: Gate,
  delayMs: number,
  reason: Hold['reason'] | 'retry',
  about?: string,
): Promise<void> {
  const wholeMs = Math.ceil(delayMs);
  options.onEvent?.({ type: 'wait', reason, delayMs: wholeMs, ...(about === undefined ? {} : { about }) });
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
