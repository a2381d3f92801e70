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

/** The clock of the source. It is passed in, so that tests need not wait. */
interface Clock {
  /** Monotonic time in milliseconds. */
  nowMs(): number;
  /** Milliseconds since 1970; only shown to people. */
  utcMs(): number;
}

export interface GateOptions {
  readonly concurrency: number;
  readonly maxWaitMs: number;
  /** The most requests that may be sent; null for no limit. */
  readonly maxRequests: number | null;
  readonly clock: Clock;
  /** Resolves after the delay; rejects only when the signal aborts. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent?: ((event: SourceEvent) => void) | undefined;
}

/** Every request to the account passes here. It keeps the quota (R23), the limit of requests and the stop. */
export interface Gate {
  readonly options: GateOptions;
  /** The requests that wait for their turn and those in flight. */
  readonly queue: PQueue;
  /** Ends every sleep when the gate is stopped. */
  readonly halt: AbortController;
  window: RateWindow;
  /** When the last request was sent that was not refused (429); null while there is none. */
  lastPassMs: number | null;
  outage: Outage;
  /** Resolves when the outage is over or the gate is stopped; null unless a request probes the service. */
  back: PromiseWithResolvers<void> | null;
  /** Whether the queue is paused and a timer will start it again. */
  waiting: boolean;
  /** The number of requests sent so far. */
  requests: number;
  /** The reason why no request starts any more; null while the gate is open. */
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
 * Which request goes first. A refused request goes last: the answers to the others tell whether the whole account is refused or
 * only this list (R9). During an outage only the probe goes (R24).
 */
export const PRIORITY = { probe: 2, again: 1, fresh: 0, refused: -1 } as const;

type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** A request, and the function that judges its outcome before the next request has its turn. */
export interface Sending<V> {
  send(): Promise<Outcome>;
  judge(outcome: Outcome): V;
}

/**
 * Sends when it is this request's turn. A stopped gate makes it throw; a request in flight still gives its outcome. The loop
 * ends: each turn sends, throws, or waits for the end of an outage, which ends or stops the gate (R24).
 * @throws the SyncError that stopped the gate
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

/** Notes that the list at this path failed. When several lists fail, there is an outage (R24). */
export function noteFailure(gate: Gate, path: readonly string[]): void {
  gate.outage = listFailed(gate.outage, path);
}

/** Notes that the service has answered, which ends an outage (R24). */
export function noteAnswer(gate: Gate): void {
  gate.outage = NO_OUTAGE;
  letGo(gate);
}

/** Takes over, before the first request, what is known of the current quota window (R23). */
export function resume(gate: Gate, window: RateWindow): void {
  gate.window = window;
  regulate(gate);
}

/** Waits before a further try, outside the queue, so that other requests can go meanwhile. Throws like `pass`. */
export async function backOff(gate: Gate, delayMs: number, about: string): Promise<void> {
  if (gate.stopped !== null) throw gate.stopped;
  await pause(gate, delayMs, 'retry', about).catch((error: unknown) => {
    throw gate.stopped ?? error;
  });
}

/** Lets no further request start: waiting calls fail with `reason`. A later stop replaces the reason. */
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

/** The request was not refused (429), and the service itself answered. */
function hasPassed({ answer }: Outcome): boolean {
  return answer !== null && answer.status !== 429 && answer.status < 500;
}

/** Sets the queue to what the quota window allows now. While it allows nothing, waits if a request is queued. */
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
  return new SyncError('quota', `The account's quota is used up: run again at ${when}, or raise --max-wait.`);
}
