import type { Pool } from 'undici';
import type { Headers } from '../core/retry-delay.ts';
import { BadEncoding, BodyTooLarge, readBody } from './read-body.ts';

const MOST_PAGE_BYTES = 64 * 1024 * 1024;
const MOST_ERROR_BYTES = 64 * 1024;

/** What came back, as far as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Null when the body did not come whole: then the outcome has a fault. */
  readonly body: Buffer | null;
}

/**
 * - `connection`: refused, reset, no such host, cut off in the middle
 * - `time-out`: not whole in time
 * - `encoding`: compressed, but not as it should be
 * - `too-large`: longer than a body may be
 * - `stopped`: we gave it up
 */
export interface Fault {
  readonly kind: 'connection' | 'time-out' | 'encoding' | 'too-large' | 'stopped';
  readonly cause: unknown;
}

/** One request, ended in whatever way: at least one of `answer` and `fault` is there. */
export interface Outcome {
  readonly answer: Answer | null;
  readonly fault: Fault | null;
  /** When its headers came, or else when it ended, in ms of the monotonic clock. */
  readonly heardMs: number;
}

/** What all requests to the account have in common. */
export interface Line {
  readonly pool: Pool;
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole request, its body included. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

/** Sends one GET and reads its answer whole. Never throws; `stop` gives it up. */
export async function send(line: Line, target: string, stop: AbortSignal): Promise<Outcome> {
  const abort = new AbortController();
  const stopNow = () => abort.abort(STOPPED);
  const timer = setTimeout(() => abort.abort(TIMED_OUT), line.timeoutMs);
  stop.addEventListener('abort', stopNow, { once: true });
  try {
    return await exchange(line, target, abort.signal);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', stopNow);
  }
}

const TIMED_OUT = new Error('The request took too long');
const STOPPED = new Error('The request was given up');

async function exchange({ pool, headers, nowMs }: Line, target: string, signal: AbortSignal): Promise<Outcome> {
  let head: { status: number; headers: Headers } | null = null;
  let heardMs: number | null = null;
  try {
    const response = await pool.request({ method: 'GET', path: target, headers, signal });
    heardMs = nowMs();
    head = { status: response.statusCode, headers: flatten(response.headers) };
    const mostBytes = head.status < 300 ? MOST_PAGE_BYTES : MOST_ERROR_BYTES;
    const body = await readBody(response.body, head.headers['content-encoding'], mostBytes);
    return { answer: { ...head, body }, fault: null, heardMs };
  } catch (cause) {
    const answer = head === null ? null : { ...head, body: null };
    return { answer, fault: { kind: faultKind(cause, signal), cause }, heardMs: heardMs ?? nowMs() };
  }
}

function faultKind(cause: unknown, signal: AbortSignal): Fault['kind'] {
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

/** The stable code of an error of Node or undici; empty when it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Of a header that came several times the first counts. */
function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const single = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(single);
}
