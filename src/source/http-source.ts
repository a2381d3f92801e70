import { Pool } from 'undici';
import { endsRun, SyncError } from '../core/errors.ts';
import { type Instant, instantOfMs } from '../core/instant.ts';
import type { Quota } from '../core/quota.ts';
import { countHeader, type Headers, httpDateMs, retryDelayMs } from '../core/retry-delay.ts';
import type { PageRequest, Source } from '../core/source.ts';
import { type Asked, classify, endsRunHere, exhausted, type Trouble } from './classify.ts';
import { type Decode, decodeEnvironments, decodeMatchedCount, decodePage } from './decode.ts';
import { backOff, type Gate, type GateOptions, openGate, pass, stop } from './gate.ts';
import { type Line, type Outcome, send } from './send.ts';
import { endpointPath, pageTarget } from './target.ts';

export interface HttpSourceOptions extends GateOptions {
  /** As `parseBaseUrl` gives it. */
  readonly baseUrl: string;
  readonly token: string;
  readonly userAgent: string;
  /** Further tries after the first. */
  readonly retries: number;
  /** For one request, its body included. */
  readonly timeoutMs: number;
  /** Stops the source: what waits ends at once, what is in flight within three seconds (R27). */
  readonly signal: AbortSignal;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** What one source holds for as long as it is open. */
interface Connection {
  readonly options: HttpSourceOptions;
  readonly line: Line;
  readonly gate: Gate;
  /** The path of the base URL, before `/public/beta`. */
  readonly prefix: string;
  /** Gives up what is in flight. */
  readonly cut: AbortController;
  readonly closed: AbortController;
  serverTime: Instant | null;
  latestServerTime: Instant | null;
  /** `RateLimit-Limit` of the last answer that had one. */
  limit: number | null;
  /** The longest `RateLimit-Reset` so far. */
  windowSeconds: number;
}

/** One thing to fetch. */
interface Ask<T> {
  readonly target: string;
  readonly asked: Asked;
  readonly decode: Decode<T>;
  readonly onRequest: (() => void) | undefined;
}

/** How long a request in flight may go on after a signal: the whole stop has five seconds (R27). */
const GRACE_MS = 3000;

/** The read API over HTTP, for one account. Throws `SyncError` `usage` for a token that no header can carry. */
export function createHttpSource(options: HttpSourceOptions): Source {
  const connection = connect(options);
  const { gate } = connection;
  const onSignal = () => stopSoon(connection);
  options.signal.addEventListener('abort', onSignal, { once: true });
  if (options.signal.aborted) onSignal();
  return {
    environments: () => fetchEnvironments(connection),
    page: (request, onRequest) => fetchRequested(connection, request, decodePage, onRequest),
    matchedCount: (request, onRequest) =>
      fetchRequested(connection, { ...request, cursor: null }, decodeMatchedCount, onRequest),
    serverTime: () => connection.serverTime,
    latestServerTime: () => connection.latestServerTime,
    requests: () => gate.requests,
    quota: () => quotaOf(connection),
    async close() {
      options.signal.removeEventListener('abort', onSignal);
      connection.closed.abort();
      stop(gate, new SyncError('run', 'The source is closed.'));
      await connection.line.pool.destroy();
    },
  };
}

function connect(options: HttpSourceOptions): Connection {
  if (!/^[\x21-\x7e]+$/.test(options.token)) {
    throw new SyncError('usage', 'The token is empty or holds characters that no token has, such as spaces.');
  }
  const { origin, pathname } = new URL(options.baseUrl);
  return {
    options,
    line: {
      pool: openPool(origin, options),
      headers: headersOf(options),
      timeoutMs: options.timeoutMs,
      nowMs: () => options.clock.nowMs(),
    },
    gate: openGate(options),
    prefix: pathname.replace(/\/+$/, ''),
    cut: new AbortController(),
    closed: new AbortController(),
    serverTime: null,
    latestServerTime: null,
    limit: null,
    windowSeconds: 0,
  };
}

/** Our own time-out covers the whole request. HTTP/2 sends again by itself, which would escape our counting (R23). */
function openPool(origin: string, { concurrency, timeoutMs }: HttpSourceOptions): Pool {
  return new Pool(origin, {
    connections: concurrency,
    allowH2: false,
    connectTimeout: timeoutMs,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function headersOf({ token, userAgent }: HttpSourceOptions): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': userAgent,
  };
}

async function fetchEnvironments(connection: Connection): Promise<readonly unknown[]> {
  const path = endpointPath(['environments']);
  const asked = { path, secret: connection.options.token, advice: 'Check the base URL and the token.' };
  try {
    return await fetchWhole(connection, { target: path, asked, decode: decodeEnvironments, onRequest: undefined });
  } catch (error) {
    throw error instanceof SyncError && !endsRun(error) ? endsRunHere(error) : error;
  }
}

function fetchRequested<T>(
  connection: Connection,
  request: PageRequest,
  decode: Decode<T>,
  onRequest: (() => void) | undefined,
): Promise<T> {
  const asked = { path: endpointPath(request.path), secret: connection.options.token, advice: null };
  return fetchWhole(connection, { target: pageTarget(request), asked, decode, onRequest });
}

/**
 * Tries until there is an answer that decides. It ends: every turn returns, throws, adds a failed try, of which there
 * are at most `retries` and one (R24), or meets a 429, which the gate bears no longer than `maxWaitMs` (R23).
 */
async function fetchWhole<T>(connection: Connection, ask: Ask<T>): Promise<T> {
  const troubles: Trouble[] = [];
  for (let repeated = false; ; repeated = true) {
    const outcome = await pass(connection.gate, () => sendOnce(connection, ask), repeated);
    const verdict = classify(outcome, ask.asked, ask.decode);
    if (verdict.kind === 'done') {
      noteTime(connection, outcome.answer?.headers ?? {});
      return verdict.value;
    }
    if (verdict.kind === 'failed') throw verdict.error;
    if (verdict.kind === 'refused') continue;
    troubles.push(verdict.trouble);
    await beforeNextTry(connection, troubles, ask.asked);
  }
}

async function beforeNextTry({ options, gate }: Connection, troubles: Trouble[], asked: Asked): Promise<void> {
  if (gate.stopped !== null) throw gate.stopped;
  if (troubles.length > options.retries) throw exhausted(troubles, asked);
  const delayMs = retryDelayMs({
    failures: troubles.length,
    random: options.random(),
    retryAfterMs: troubles.at(-1)?.retryAfterMs ?? null,
    maxWaitMs: options.maxWaitMs,
  });
  await backOff(gate, delayMs);
}

async function sendOnce<T>(connection: Connection, { target, asked, onRequest }: Ask<T>): Promise<Outcome> {
  const { line, options, prefix } = connection;
  const startedMs = line.nowMs();
  onRequest?.();
  const outcome = await send(line, prefix + target, connection.cut.signal);
  noteQuota(connection, outcome.answer?.headers ?? {});
  const status = outcome.answer?.status ?? 0;
  options.onEvent?.({ type: 'request', path: asked.path, status, durationMs: line.nowMs() - startedMs });
  return outcome;
}

/** Of an accepted answer alone: what stands in the way of the service may have a clock of its own (R1). */
function noteTime(connection: Connection, headers: Headers): void {
  const dateMs = httpDateMs(headers.date);
  if (dateMs === null) return;
  const time = instantOfMs(dateMs);
  const latest = connection.latestServerTime;
  connection.serverTime ??= time;
  connection.latestServerTime = latest === null || time > latest ? time : latest;
}

function noteQuota(connection: Connection, headers: Headers): void {
  connection.limit = countHeader(headers['ratelimit-limit']) ?? connection.limit;
  connection.windowSeconds = Math.max(connection.windowSeconds, countHeader(headers['ratelimit-reset']) ?? 0);
}

function quotaOf({ gate, limit, windowSeconds, options }: Connection): Quota | null {
  const { remaining, resetAtMs } = gate.window;
  if (remaining === null) return null;
  const resetSeconds = Math.max(0, Math.ceil((resetAtMs - options.clock.nowMs()) / 1000));
  return { limit, remaining, resetSeconds, windowSeconds };
}

function stopSoon({ gate, options, cut, closed }: Connection): void {
  stop(gate, new SyncError('signal', 'Stopped by a signal: the next run carries on.'));
  options.sleep(GRACE_MS, closed.signal).then(
    () => cut.abort(),
    () => {},
  );
}
