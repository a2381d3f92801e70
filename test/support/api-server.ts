import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response. `body` is sent as JSON unless it is text or bytes. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: unknown;
}

/**
 * How the server handles one request: it replies, never replies (`hang`), sends an endless body byte by byte
 * (`trickle`), or cuts the connection before the response (`reset`) or after half of the body (`truncate`).
 */
export type Step = Reply | 'hang' | 'trickle' | 'reset' | { readonly truncate: Reply };

/** A step, or a function that returns one for the request. A promise delays the response until it resolves. */
export type ScriptedStep = Step | ((request: RecordedRequest) => Step | Promise<Step>);

export interface RecordedRequest {
  readonly method: string;
  /** Path and query as in the request line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface ApiServer {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** The highest number of requests in flight so far. */
  maxInFlight(): number;
  /** Connections opened so far. */
  connections(): number;
  /** Sets the steps for the next requests, in order. The last one repeats. */
  script(...steps: ScriptedStep[]): void;
  /** Resolves once this many requests were received in total. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** An empty last page. */
export const EMPTY_PAGE = { items: [], has_more: false, next_cursor: null };

/** A real server on loopback that replies by a script and records its requests. */
export async function startApiServer(...steps: ScriptedStep[]): Promise<ApiServer> {
  const requests: RecordedRequest[] = [];
  const arrivals = new EventTarget();
  let remaining = steps;
  let inFlight = 0;
  let maxInFlight = 0;
  let connections = 0;

  const server = createServer(async (incoming, response) => {
    const request = record(incoming);
    requests.push(request);
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    response.on('close', () => inFlight--);
    const next = remaining.length > 1 ? remaining.shift() : remaining[0];
    arrivals.dispatchEvent(new Event('request'));
    perform(await (typeof next === 'function' ? next(request) : (next ?? { body: EMPTY_PAGE })), response);
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    maxInFlight: () => maxInFlight,
    connections: () => connections,
    script(...coming) {
      remaining = coming;
    },
    async received(count) {
      while (requests.length < count) await once(arrivals, 'request');
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function record({ method = '', url = '', headers }: IncomingMessage): RecordedRequest {
  return { method, target: url, headers };
}

function perform(step: Step, response: ServerResponse): void {
  if (step === 'hang') return;
  if (step === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (step === 'trickle') {
    const byByte = setInterval(() => response.write(' '), 1);
    response.on('close', () => clearInterval(byByte));
    return;
  }
  if ('truncate' in step) truncate(step.truncate, response);
  else reply(step, response);
}

function reply(step: Reply, response: ServerResponse): void {
  const body = bytesOf(step.body);
  response.writeHead(step.status ?? 200, { 'content-type': 'application/json', ...step.headers });
  response.end(body);
}

function truncate(step: Reply, response: ServerResponse): void {
  const body = bytesOf(step.body);
  const headers = { 'content-type': 'application/json', ...step.headers, 'content-length': body.length };
  response.writeHead(step.status ?? 200, headers);
  response.write(body.subarray(0, body.length >> 1), () => response.socket?.end());
}

/** The body as bytes, by default an empty last page. */
export function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? EMPTY_PAGE));
}
