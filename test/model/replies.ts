import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Query } from '../../src/core/ports/source.ts';
import { ApiError, matchedCount, respond } from './respond.ts';
import { type Disturbance, GATEWAY_PAGE } from './wire-faults.ts';
import { type LoggedRequest, listEnvironments, type World } from './world.ts';

export type Headers = Readonly<Record<string, string>>;

/** A response on the wire. A body that is not a string is sent as JSON. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

const PREFIX = '/public/beta/';

/** Parameters that may be repeated. */
const LISTS = new Set(
  (
    'ids asset_ids column_ids test_ids sub_test_ids source_types tags db_names schema_names materializations path ' +
    'bi_platforms data_types test_types definition_types statuses'
  ).split(' '),
);

/** Parses a request; null if the specification does not allow it. */
export function parseRequest(
  { method, url = '', headers }: IncomingMessage,
  token: string,
): Omit<LoggedRequest, 'number'> | null {
  const { pathname, searchParams } = new URL(url, 'http://model.invalid');
  const at = pathname.indexOf(PREFIX);
  if (method !== 'GET' || at < 0 || headers.authorization !== `Bearer ${token}`) return null;
  const query: Record<string, Query[string]> = {};
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name);
    if (!LISTS.has(name) && values.length > 1) return null;
    query[name] = LISTS.has(name) ? values : (values[0] ?? '');
  }
  const { cursor = null, ...rest } = query;
  const path = pathname
    .slice(at + PREFIX.length)
    .split('/')
    .map(decodeURIComponent)
    .join('/');
  return { path, query: rest, cursor: cursor as string | null };
}

/** The service's own response. */
export function replyTo(world: World, request: LoggedRequest, headers: Headers): Reply {
  try {
    return { status: 200, headers, body: bodyFor(world, request) };
  } catch (error) {
    if (error instanceof ApiError) return errorReply(error.status, error.code, headers);
    throw error;
  }
}

function bodyFor(world: World, request: LoggedRequest): unknown {
  const { query, cursor } = request;
  const path = request.path.split('/');
  if (request.path === 'environments') return listEnvironments(world);
  if (request.path.endsWith('/asset-health-scores/aggregate'))
    return {
      matched_count: matchedCount(world, path, query),
      total: { score: 0, test_count: 0, bucket_at: null },
      dimensions: [],
    };
  const { items, hasMore, nextCursor } = world.transformPage(respond(world, { path, query, cursor }), request);
  return { items, has_more: hasMore, next_cursor: nextCursor };
}

export function errorReply(status: number, code: string, headers: Headers = {}): Reply {
  return { status, headers, body: { error: { code, message: `status ${status}` } } };
}

/** Sends a response, which the disturbance may truncate, replace, strip of its headers, or drop. */
export function deliver(
  response: ServerResponse,
  disturbance: Disturbance | undefined,
  reply: Reply,
  nowMs: number,
): void {
  if (disturbance?.type === 'reset') response.socket?.resetAndDestroy();
  else if (disturbance?.type === 'truncate') sendHalf(response, reply);
  else send(response, disturbance === undefined ? reply : disturbed(disturbance, reply, nowMs));
}

function disturbed(disturbance: Disturbance, reply: Reply, nowMs: number): Reply {
  if (disturbance.type === 'garble') {
    const date = disturbance.body === GATEWAY_PAGE ? gatewayDate(disturbance, nowMs) : {};
    return { status: 200, headers: { ...reply.headers, ...date }, body: disturbance.body };
  }
  if (disturbance.type === 'fail') return failure(disturbance, reply.headers, nowMs);
  return disturbance.type === 'drop-headers' ? { ...reply, headers: {} } : reply;
}

/** An error of the service has its headers. A page of a gateway has none of them, and the gateway's own `Date`. */
function failure(fault: Disturbance & { type: 'fail' }, headers: Headers, nowMs: number): Reply {
  const { status, page, retryAfter } = fault;
  const wait: Headers = retryAfter ? { 'retry-after': '5' } : {};
  if (page === 'envelope') return errorReply(status, 'internal_error', { ...headers, ...wait });
  const own = { ...gatewayDate(fault, nowMs), 'content-type': 'text/html' };
  return { status, headers: { ...wait, ...own }, body: GATEWAY_PAGE };
}

/** The `Date` of a gateway in front of the service. */
export function gatewayDate({ gatewayMinutes }: { readonly gatewayMinutes: number }, nowMs: number): Headers {
  return { date: new Date(nowMs + gatewayMinutes * 60_000).toUTCString() };
}

export function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.sendDate = false;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(textOf(body));
}

function sendHalf(response: ServerResponse, { status, headers, body }: Reply): void {
  const bytes = Buffer.from(textOf(body));
  response.sendDate = false;
  response.writeHead(status, { 'content-type': 'application/json', ...headers, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.end());
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
