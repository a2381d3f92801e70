import type PQueue from 'p-queue';
import type { Dispatcher } from 'undici';
import { errorCode } from '../core/errors.ts';
import type { HeaderValues } from '../core/quota/retry-delay.ts';
import { collectGarbage } from './collect-garbage.ts';
import { BadEncoding, BodyTooLarge, readBody } from './read-body.ts';

const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** A longer body is heavy: it is read, decoded and committed before the next heavy body continues (R27). */
export const HEAVY_BYTES = 2 * 1024 * 1024;

/** The response, as far as it arrived. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: HeaderValues;
  /** Null if the body is incomplete; the outcome then has a fault. */
  readonly body: Buffer | null;
}

/**
 * - `connection`: refused, reset, unknown host, or cut off midway
 * - `time-out`: not complete in time
 * - `encoding`: not compressed as its header says
 * - `too-large`: longer than a body may be
 * - `stopped`: aborted by us
 */
export interface TransportError {
  readonly kind: 'connection' | 'time-out' | 'encoding' | 'too-large' | 'stopped';
  readonly cause: unknown;
}

/** How one request ended: with an `answer`, a `fault`, or both. */
export interface RequestOutcome {
  readonly answer: HttpAnswer | null;
  readonly fault: TransportError | null;
  /** When its headers arrived or, without any, when it ended, in milliseconds of the monotonic clock. */
  readonly heardMs: number;
}

/** What all requests to the account share. */
export interface HttpConnection {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The time limit of a whole request, including its body. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
  /** Serializes the reading of heavy bodies, however many requests are in flight (R27). */
  readonly heavyTurns: PQueue;
}

/** A request in flight: whether its heavy body waits for its turn, and the function that ends the turn. */
interface TransferState {
  isWaiting: boolean;
  endTurn: (() => void) | null;
}

/** Sends one GET request and reads the whole response. Never throws; `stop` aborts the request. */
export async function send(connection: HttpConnection, target: string, stop: AbortSignal): Promise<RequestOutcome> {
  const abort = new AbortController();
  const transferState: TransferState = { isWaiting: false, endTurn: null };
  const stopNow = () => abort.abort(STOPPED);
  const timer = startTimer(connection.timeoutMs, transferState, () => abort.abort(TIMED_OUT));
  stop.addEventListener('abort', stopNow, { once: true });
  try {
    return await exchange(connection, target, abort.signal, transferState);
  } finally {
    clearInterval(timer);
    stop.removeEventListener('abort', stopNow);
    // The caller decodes and commits the outcome before the turn ends.
    const { endTurn } = transferState;
    if (endTurn !== null)
      setImmediate(() => {
        collectGarbage();
        endTurn();
      });
  }
}

const TICKS = 10;
/** A tick later than this was delayed by this process, not by the service. */
const HELD_UP_MS = 1000;

/** Counts time only while this process can listen, and not while the request waits for its turn. */
function startTimer(timeoutMs: number, state: TransferState, onTimeout: () => void): NodeJS.Timeout {
  const tickMs = timeoutMs / TICKS;
  let left = TICKS;
  let lastMs = performance.now();
  return setInterval(() => {
    const isLate = performance.now() - lastMs > tickMs + HELD_UP_MS;
    lastMs = performance.now();
    if (isLate || state.isWaiting) return;
    left -= 1;
    if (left === 0) onTimeout();
  }, tickMs);
}

const TIMED_OUT = new Error('The request took too long');
const STOPPED = new Error('The request was aborted');

async function exchange(
  connection: HttpConnection,
  target: string,
  signal: AbortSignal,
  state: TransferState,
): Promise<RequestOutcome> {
  const { dispatcher, origin, headers, nowMs } = connection;
  let head: { status: number; headers: HeaderValues } | null = null;
  let heardMs: number | null = null;
  try {
    const response = await dispatcher.request({ origin, method: 'GET', path: target, headers, signal });
    heardMs = nowMs();
    head = { status: response.statusCode, headers: flatten(response.headers) };
    const maxBytes = head.status < 300 ? MAX_PAGE_BYTES : MAX_ERROR_BYTES;
    const onHeavy = async () => {
      state.isWaiting = true;
      state.endTurn = await takeTurn(connection.heavyTurns);
      state.isWaiting = false;
    };
    const bounds = { maxBytes, heavyBytes: HEAVY_BYTES, onHeavy };
    const body = await readBody(response.body, head.headers['content-encoding'], bounds);
    return { answer: { ...head, body }, fault: null, heardMs };
  } catch (cause) {
    const answer = head === null ? null : { ...head, body: null };
    return { answer, fault: { kind: faultKind(cause, signal), cause }, heardMs: heardMs ?? nowMs() };
  }
}

/**
 * Waits for a turn.
 * @returns a function that ends the turn
 */
export function takeTurn(turns: PQueue): Promise<() => void> {
  return new Promise((resolve) => {
    void turns.add(() => new Promise<void>((end) => resolve(end)));
  });
}

function faultKind(cause: unknown, signal: AbortSignal): TransportError['kind'] {
  if (signal.aborted) return signal.reason === TIMED_OUT ? 'time-out' : 'stopped';
  if (cause instanceof BodyTooLarge) return 'too-large';
  if (cause instanceof BadEncoding) return 'encoding';
  return TIME_OUT_CODES.has(errorCode(cause)) ? 'time-out' : 'connection';
}

const TIME_OUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** Keeps the first value of a repeated header. */
function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): HeaderValues {
  const single = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(single);
}
