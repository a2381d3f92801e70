import PQueue from 'p-queue';
import { usageError } from '../core/errors.ts';
import type { PageRequest } from '../core/ports/source.ts';
import { countHeader, type HeaderValues, httpDateMs } from '../core/quota/retry-delay.ts';
import { TOKEN_PATTERN } from '../core/read-api.ts';
import { instantOfMs } from '../core/time/instant.ts';
import { NO_TIMES, type ServerTimes, withReading } from '../core/time/server-times.ts';
import type { RequestDescription } from './classify.ts';
import { type NetworkOptions, openDispatcher } from './dispatcher.ts';
import type { BodyDecoder } from './envelope.ts';
import { NO_PROXIES, proxyHostOf } from './proxies.ts';
import { RateLimiter, type RateLimiterOptions } from './rate-limiter.ts';
import { type HttpConnection, type RequestOutcome, send } from './send.ts';
import { ServiceHealth } from './service-health.ts';
import { endpointPath, pageTarget } from './target.ts';

export interface HttpSourceOptions extends RateLimiterOptions, NetworkOptions {
  /** The base URL as `parseBaseUrl` returns it. */
  readonly baseUrl: string;
  readonly token: string;
  /** The option, variable or file that the token came from, for messages. */
  readonly tokenFrom?: string;
  readonly userAgent: string;
  /** The most retries after the first try. */
  readonly retries: number;
  /**
   * Paths of lists under an environment. A probe requests one row of one of them to see whether the service responds
   * (R9, R24).
   */
  readonly lists: readonly (readonly string[])[];
  /** Stops the source: waiting requests end at once, requests in flight within three seconds (R27). */
  readonly signal: AbortSignal;
}

/** The connections to the service of one account, and what its responses have shown so far. */
export class SourceConnection {
  readonly options: HttpSourceOptions;
  readonly http: HttpConnection;
  readonly health = new ServiceHealth();
  readonly limiter: RateLimiter;
  /** The path of the base URL, before `/public/beta`. */
  readonly prefix: string;
  /** Aborts the requests in flight, and connections that are still being made. */
  readonly inFlightAbort = new AbortController();
  readonly closed = new AbortController();
  times: ServerTimes = NO_TIMES;
  /** When the first response with a `Date` arrived, by the local monotonic clock; null before. */
  firstReadingMs: number | null = null;
  /** The last `RateLimit-Limit` received. */
  limit: number | null = null;
  /** The greatest `RateLimit-Reset` so far. */
  windowSeconds = 0;
  /** The ids of the listed environments. */
  environments: readonly string[] = [];
  /** The number of probes so far; each one requests another list. */
  probes = 0;

  constructor(options: HttpSourceOptions) {
    if (!TOKEN_PATTERN.test(options.token))
      throw usageError('The token is empty or contains characters that a token cannot have, such as spaces.');
    const { origin, pathname } = new URL(options.baseUrl);
    this.options = options;
    this.http = {
      dispatcher: openDispatcher(options, this.inFlightAbort.signal),
      origin,
      headers: {
        authorization: `Bearer ${options.token}`,
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': options.userAgent,
      },
      timeoutMs: options.timeoutMs,
      nowMs: () => options.clock.nowMs(),
      heavyTurns: new PQueue({ concurrency: 1 }),
    };
    this.limiter = new RateLimiter(options, this.health);
    this.prefix = pathname.replace(/\/+$/, '');
  }
}

/** A resource to fetch, and how to decode it. */
export interface FetchRequest<T> {
  /** The path segments under `/public/beta`, not percent-encoded. */
  readonly path: readonly string[];
  readonly target: string;
  readonly description: RequestDescription;
  readonly decode: BodyDecoder<T>;
  readonly onRequest?: (() => void) | undefined;
  /** The number of tries that failed in earlier runs (R24). */
  readonly failedTries: number;
  /** Whether it begins a run, so an answer that shows a wrong address or network isn't worth another try. */
  readonly beginsRun?: boolean;
}

/** The request for one page, without what only some requests have. */
export function fetchRequestOf<T>(
  { options: { baseUrl, proxies = NO_PROXIES, token: secret, tokenFrom } }: SourceConnection,
  page: PageRequest,
  decode: BodyDecoder<T>,
  advice: string | null = null,
): FetchRequest<T> {
  const { path, failedTries = 0 } = page;
  const remote = { host: new URL(baseUrl).host, proxy: proxyHostOf(baseUrl, proxies) };
  const description = { path: endpointPath(path), ...remote, secret, tokenFrom, advice };
  return { path, target: pageTarget(page), description, decode, failedTries };
}

export async function sendOnce<T>(
  connection: SourceConnection,
  { target, description, onRequest }: FetchRequest<T>,
): Promise<RequestOutcome> {
  const { http, options, prefix, inFlightAbort } = connection;
  const startedMs = http.nowMs();
  onRequest?.();
  const outcome = await send(http, prefix + target, inFlightAbort.signal);
  const headers = outcome.answer?.headers ?? {};
  connection.limit = countHeader(headers['ratelimit-limit']) ?? connection.limit;
  connection.windowSeconds = Math.max(connection.windowSeconds, countHeader(headers['ratelimit-reset']) ?? 0);
  const status = outcome.answer?.status ?? 0;
  const query = target.slice(description.path.length);
  options.onEvent?.({ type: 'request', path: description.path, query, status, durationMs: http.nowMs() - startedMs });
  return outcome;
}

/** Call this only for accepted responses: a gateway in front of the service may have a clock of its own (R1). */
export function noteTime(connection: SourceConnection, headers: HeaderValues): void {
  const dateMs = httpDateMs(headers.date);
  if (dateMs === null) return;
  const nowMs = connection.http.nowMs();
  connection.firstReadingMs ??= nowMs;
  // A cache sends the `Date` of the response that it stored, and its `Age`.
  const ageMs = 1000 * (countHeader(headers.age) ?? 0);
  connection.times = withReading(connection.times, {
    at: instantOfMs(dateMs + ageMs),
    elapsedSeconds: (nowMs - connection.firstReadingMs) / 1000,
  });
}
