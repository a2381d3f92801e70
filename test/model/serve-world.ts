import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Source } from '../../src/core/ports/source.ts';
import type { HttpSourceOptions } from '../../src/source/connection.ts';
import { createHttpSource } from '../../src/source/http-source.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { deliver, errorReply, gatewayDate, type Headers, parseRequest, replyTo, send } from './replies.ts';
import { createQuotaCounter, type Disturbance, type Quota, type WireFault } from './wire-faults.ts';
import { Crash, clockReading, isDated, type LoggedRequest, receive, type World } from './world.ts';

const TOKEN = 'token-of-the-model';

export interface ServingOptions {
  readonly quota: Quota;
  /** How often the source retries a request. */
  readonly retries: number;
  /** The seed of its jitter, at least 1. */
  readonly seed: number;
}

/** A world served over HTTP on loopback, and the real source, which runs in the world's time. */
export interface ServedWorld {
  /** The faults of the next runs. */
  faults: readonly WireFault[];
  /** How many requests the service has received since the source was opened. */
  received(): number;
  /** The next source knows nothing of what earlier ones learned about the quota. */
  forgetQuota(): void;
  /** Replaces the world's own source. */
  readonly source: World['source'];
  close(): Promise<void>;
}

/** The requests of the current source. Requests of earlier ones are dropped. */
interface SourceRequests {
  readonly number: number;
  received: number;
  /** Whether a response has announced a quota to this source. */
  isAnnounced: boolean;
  /** The last window whose quota this source knows from a response, or from the saved state of an earlier source. */
  knownWindow: number;
  /** Requests that may have been in flight, without a known quota, when the first response announced one. */
  unannounced: number;
}

const CONCURRENCY = 3;
const LISTS = CATALOGUE.map((stream) => stream.path).filter((path) => !path.includes('{id}'));

export async function serveWorld(world: World, { quota, retries, seed }: ServingOptions): Promise<ServedWorld> {
  const service = createService(world, quota);
  const server = createServer(service.handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/of/the/model`;
  const random = jitter(seed);
  const timing = worldTime(world);
  const source = (maxRequests: number | null = null, signal = new AbortController().signal): Source => {
    const userAgent = service.open();
    const own = { baseUrl, token: TOKEN, userAgent, retries, random, maxRequests, signal, lists: LISTS };
    return createHttpSource({ ...own, ...timing, concurrency: CONCURRENCY, timeoutMs: 60_000, maxWaitMs: 900_000 });
  };
  return Object.assign(service, {
    source,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

function createService(world: World, quota: Quota) {
  const count = createQuotaCounter(quota);
  let requests: SourceRequests = { number: 0, received: 0, knownWindow: 0, unannounced: 0, isAnnounced: false };

  /** The quota's headers; `isOver` if the request exceeds it. */
  function countRequest(request: LoggedRequest, fault: Disturbance | undefined): { headers: Headers; isOver: boolean } {
    const { isOver, remaining, resetSeconds, window } = count(world.nowMs);
    // Until a response announced the window to this source, another may have used it up (R23).
    if (isOver && requests.knownWindow === window && requests.unannounced-- <= 0)
      world.violations.push(`request ${request.number} overran the quota (R23)`);
    if (fault === undefined) {
      // If the first responses of a run announce no quota, the source assumes that there is none.
      if (!requests.isAnnounced && request.number > 1) requests.unannounced = CONCURRENCY - 1;
      requests.knownWindow = window;
      requests.isAnnounced = true;
    }
    const wait: Headers = isOver ? { 'retry-after': String(resetSeconds) } : {};
    const limits = limitHeaders(quota.limit, remaining, resetSeconds);
    return { headers: { ...dateHeader(world, request), ...limits, ...wait }, isOver };
  }

  function answer(request: LoggedRequest, response: ServerResponse): void {
    const fault = service.faults.find((each) => affects(each, request))?.disturbance;
    receive(world, request);
    if (fault?.type === 'refuse') {
      send(response, refusal(fault, quota, gatewayDate(fault, world.nowMs)));
      return;
    }
    const { headers, isOver } = countRequest(request, fault);
    if (isOver) send(response, errorReply(429, 'rate_limited', headers));
    else deliver(response, fault, replyTo(world, request, headers), world.nowMs);
  }

  const service = {
    faults: [] as readonly WireFault[],
    received: () => requests.received,
    open(): string {
      requests = { ...requests, number: requests.number + 1, received: 0, isAnnounced: false };
      return userAgentOf(requests);
    },
    forgetQuota(): void {
      requests = { ...requests, knownWindow: 0, unannounced: 0 };
    },
    handle(incoming: IncomingMessage, response: ServerResponse): void {
      if (incoming.headers['user-agent'] !== userAgentOf(requests)) {
        response.socket?.destroy();
        return;
      }
      requests.received += 1;
      const request = parseRequest(incoming, TOKEN);
      try {
        if (request === null) throw new Error(`no such request: ${incoming.method} ${incoming.url}`);
        answer({ ...request, number: requests.received }, response);
      } catch (error) {
        // The requesting process may have crashed.
        if (!(error instanceof Crash)) world.violations.push(String(error));
        response.socket?.destroy();
      }
    },
  };
  return service;
}

/** A fault's `list` is the path after the environment. */
function affects({ at, times, list }: WireFault, { number, path }: LoggedRequest): boolean {
  return number >= at && number < at + times && (list === undefined || path.slice(path.indexOf('/') + 1) === list);
}

function userAgentOf({ number }: SourceRequests): string {
  return `obsync/${number}`;
}

function refusal({ retryAfterSeconds, sendsQuota }: Disturbance & { type: 'refuse' }, { limit }: Quota, date: Headers) {
  const limits = sendsQuota ? limitHeaders(limit, 0, retryAfterSeconds) : {};
  return errorReply(429, 'rate_limited', { ...date, ...limits, 'retry-after': String(retryAfterSeconds) });
}

function limitHeaders(limit: number, remaining: number, resetSeconds: number): Headers {
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  };
}

function dateHeader(world: World, request: LoggedRequest): Headers {
  if (!isDated(world, request)) return {};
  const { dateMs, ageSeconds } = clockReading(world, request);
  const age: Headers = ageSeconds > 0 ? { age: String(ageSeconds) } : {};
  return { date: new Date(dateMs).toUTCString(), ...age };
}

/** Time passes only while a request is handled or the source sleeps. */
function worldTime(world: World): Pick<HttpSourceOptions, 'clock' | 'sleep'> {
  return {
    clock: { nowMs: () => world.nowMs, utcMs: () => world.nowMs },
    async sleep(delayMs, signal) {
      const untilMs = world.nowMs + delayMs;
      await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) throw signal.reason;
      if (world.nowMs < untilMs) world.advance((untilMs - world.nowMs) / 1000);
    },
  };
}

/** Random numbers in [0, 1), the same for the same seed. */
function jitter(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
