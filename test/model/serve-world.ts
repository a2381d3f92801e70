import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Source } from '../../src/core/ports/source.ts';
import { createHttpSource, type HttpSourceOptions } from '../../src/source/http-source.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { deliver, errorReply, gatewayDate, type Headers, parseRequest, replyTo, send } from './replies.ts';
import { createQuotaCounter, type Disturbance, type Quota, type WireFault } from './wire-faults.ts';
import { Crash, clockReading, isDated, type LoggedRequest, receive, type World } from './world.ts';

const TOKEN = 'token-of-the-model';

export interface ServingOptions {
  readonly quota: Quota;
  /** Further tries of the source after the first. */
  readonly retries: number;
  /** Where its jitter begins: from 1. */
  readonly seed: number;
}

/** A world served over HTTP on loopback, and the real source for it in the world's own time. */
export interface ServedWorld {
  /** What befalls the requests of the runs to come. */
  faults: readonly WireFault[];
  /** Requests that the service has met since the source was opened. */
  received(): number;
  /** What the sources so far were told of the quota is lost to the next one. */
  forgetQuota(): void;
  /** To take the place of the world's own source. */
  readonly source: World['source'];
  close(): Promise<void>;
}

/** The requests of one source; those of an earlier one find nobody any more. */
interface SourceRequests {
  readonly number: number;
  received: number;
  /** The last window whose state an answer has told this source, or one before it that has left word. */
  knownWindow: number;
  /** Requests that may have been on their way, without a bound, when the first answer told of any. */
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
  let requests: SourceRequests = { number: 0, received: 0, knownWindow: 0, unannounced: 0 };

  /** The quota's headers; `isOver` when the request is beyond it. */
  function countRequest(request: LoggedRequest, fault: Disturbance | undefined): { headers: Headers; isOver: boolean } {
    const { isOver, remaining, resetSeconds, window } = count(world.nowMs);
    // Until an answer has told this source of the window, another may have used it up (R23).
    if (isOver && requests.knownWindow === window && requests.unannounced-- <= 0)
      world.violations.push(`request ${request.number} overran the quota (R23)`);
    if (fault === undefined) {
      // A service whose first answers tell of no quota is asked as if it had none.
      if (requests.knownWindow === 0 && request.number > 1) requests.unannounced = CONCURRENCY - 1;
      requests.knownWindow = window;
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
      requests = { ...requests, number: requests.number + 1, received: 0 };
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
        // The process that asked may be no more.
        if (!(error instanceof Crash)) world.violations.push(String(error));
        response.socket?.destroy();
      }
    },
  };
  return service;
}

/** The list at a path is what follows the environment. */
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

/** Time passes while a request is met and while somebody sleeps, and at no other moment. */
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

/** Numbers from 0 up to 1, the same for the same seed. */
function jitter(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
