import { createHash } from 'node:crypto';
import { isExactNumber, parseExactly } from '../../src/core/json.ts';
import type { Page, PageRequest, Query } from '../../src/core/ports/source.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { API_LISTS } from './api-lists.ts';
import type { EnvironmentModel, Item } from './environment.ts';
import { history, LISTS, type ListRow } from './lists.ts';
import type { World } from './world.ts';

/** An error response, with the code that the specification defines. */
export class ApiError extends Error {
  readonly status: 400 | 403 | 404 | 500;
  readonly code: string;

  constructor(status: ApiError['status'], code: string, message: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
  }
}

const DAY_MS = 86_400_000;
const LOOKBACK_MS = 90 * DAY_MS;
const DEFAULT_HISTORY_MS = 30 * DAY_MS;
const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 2000;
const MAX_VALUES = 1000;

/** Returns one page of a list. @throws ApiError */
export function respond(world: World, { path, query, cursor }: PageRequest): Page {
  const [, ...rest] = path;
  const name = rest.length === 3 ? 'executions' : rest.join('/');
  const env = authorize(world, path, name);
  rejectInvalid(query);
  rejectUnknown(world, path, query);
  const rows = rowsOf(world, env, { name, path, query });
  rejectBroken(env, { name, path, query, cursor });
  if (rows === null) throw new ApiError(404, 'not_found', `404 ${path.join('/')}`);
  const signature = signatureOf(path, query);
  const epoch = world.cursorEpoch + (world.listEpochs.get(path.join('/')) ?? 0);
  const [boundTo, after] = cursor === null ? [signature, null] : openCursor(epoch, cursor);
  if (boundTo !== signature) {
    world.violations.push(`a cursor sent with another query than its own: ${path.join('/')} ${JSON.stringify(query)}`);
    throw new ApiError(400, 'invalid_cursor', '400 invalid_cursor');
  }
  const paging = { limit: Number(query['limit'] ?? DEFAULT_LIMIT), after, toCursor: cursorEncoder(epoch, signature) };
  return pageOf(rows, { ...paging, reversesMembers: env.reversesMembers });
}

/** The `matched_count` of the aggregate: how many visible tables match every filter. @throws ApiError */
export function matchedCount(world: World, path: readonly string[], query: Query): number {
  const env = authorize(world, path, 'asset-health-scores');
  rejectUnknown(world, path, query);
  return (LISTS['assets/tables']?.(env, query, '') ?? []).filter((row) => row.shown).length;
}

/** The rows of a list before paging; null if there is no such list. */
function rowsOf(
  world: World,
  env: EnvironmentModel,
  { name, path, query }: { name: string; path: readonly string[]; query: Query },
): ListRow[] | null {
  const oldest = new Date(world.nowMs - LOOKBACK_MS).toISOString();
  // Without the service's time, the connector cannot detect that a list lags (R10, R22).
  const shown = world.dates === 'never' ? { ...env, typedLag: false } : env;
  if (name !== 'executions') return LISTS[name]?.(shown, query, oldest) ?? null;
  const defaults = { start_time_from: new Date(world.nowMs - DEFAULT_HISTORY_MS).toISOString() };
  return history(env, path[2] ?? '', { ...defaults, ...query }, oldest);
}

/** The environment of a path. @throws ApiError if the token may not enter it, its scope, or the collection */
function authorize(world: World, path: readonly string[], name: string): EnvironmentModel {
  const env = world.environments.get(path[0] ?? '');
  const inScope = !env?.denied.has(name) && !env?.denied.has(`${scopeOf(name)} scope`);
  if (!env?.listed || env.denied.has('environment') || !inScope)
    throw new ApiError(403, 'permission_denied', `403 ${path.join('/')}`);
  if (env.notLive.has(name)) throw new ApiError(404, 'not_found', `404 ${path.join('/')}`);
  return env;
}

/** @throws ApiError for pages and histories that the service fails to return */
function rejectBroken(
  env: EnvironmentModel,
  { name, path, query, cursor }: { name: string; path: readonly string[]; query: Query; cursor: string | null },
): void {
  const isHeavy = Number(query['limit'] ?? DEFAULT_LIMIT) > (env.maxPageRows.get(name) ?? MAX_LIMIT);
  const isScan = Object.keys(query).every((key) => key === 'limit' || key === 'disabled');
  if (isScan && cursor !== null && env.brokenScans.has(name))
    throw new ApiError(500, 'broken', `500 ${path.join('/')}`);
  if (isHeavy) throw new ApiError(500, 'too_heavy', `500 ${path.join('/')}`);
  const status = name === 'executions' ? env.brokenHistories.get(path[2] ?? '') : undefined;
  if (status !== undefined) throw new ApiError(status, 'broken', `${status} ${path.join('/')}`);
}

/** The API does not say which scope health scores need. The model requires that of the assets. */
function scopeOf(name: string): 'assets' | 'tests' {
  const entry = CATALOGUE.find(({ path }) => path.join('/') === name || path.at(-1) === name);
  return entry?.serve ? entry.serve.scope : 'assets';
}

function rejectInvalid(query: Query): void {
  const limit = Number(query['limit'] ?? DEFAULT_LIMIT);
  const lists = Object.values(query).filter((value) => Array.isArray(value));
  const isValid =
    Number.isInteger(limit) &&
    limit >= 1 &&
    limit <= MAX_LIMIT &&
    lists.every((values) => values.length <= MAX_VALUES) &&
    !('synced_since' in query && 'deleted_since' in query);
  if (!isValid) throw new ApiError(400, 'invalid_request', `400 invalid_request ${JSON.stringify(query)}`);
}

/** @throws ApiError for a parameter that the list does not support */
function rejectUnknown(world: World, path: readonly string[], query: Query): void {
  const list = path.at(-1) === 'executions' ? 'tests/{id}/executions' : path.slice(1).join('/');
  const unknown = Object.keys(query).filter((name) => !API_LISTS[list]?.includes(name));
  if (unknown.length === 0) return;
  const violation = `${path.join('/')} has no parameter ${unknown.join(', ')}`;
  world.violations.push(violation);
  throw new ApiError(400, 'invalid_request', `400 invalid_request: ${violation}`);
}

/** Everything that a cursor is bound to. */
function signatureOf(path: readonly string[], query: Query): string {
  const sorted = Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]);
  return createHash('sha1')
    .update(JSON.stringify([path, sorted.sort()]))
    .digest('base64url');
}

/** Some readers parse whatever looks like JSON. */
const OPAQUE = 'cursor ';

function cursorEncoder(epoch: number, signature: string): (key: string) => string {
  return (key) => `${OPAQUE}${JSON.stringify([epoch, signature, key])}`;
}

/** @throws ApiError for an expired cursor */
function openCursor(epoch: number, cursor: string): [signature: string, after: string] {
  const [issuedIn, signature, after] = JSON.parse(cursor.slice(OPAQUE.length)) as [number, string, string];
  if (issuedIn !== epoch) throw new ApiError(400, 'invalid_cursor', '400 invalid_cursor');
  return [signature, after];
}

interface Paging {
  readonly limit: number;
  readonly after: string | null;
  readonly toCursor: (key: string) => string;
  readonly reversesMembers: boolean;
}

/** The item as a client decodes it from the response. */
function asDecoded(item: Item, reversesMembers: boolean): Item {
  return parseExactly(JSON.stringify(reversesMembers ? reverseMembers(item) : item)) as Item;
}

/** The value with the members of every object in reverse order. */
function reverseMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseMembers);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reverseMembers(member)]);
  return Object.fromEntries(members.reverse());
}

/** Keyset paging over live data. Hidden rows are removed after the page was cut. */
function pageOf(rows: readonly ListRow[], { limit, after, toCursor, reversesMembers }: Paging): Page {
  const left = rows.filter((row) => after === null || row.key > after).sort((a, b) => (a.key < b.key ? -1 : 1));
  const page = left.slice(0, limit);
  const hasMore = left.length > limit;
  const items = page.filter((row) => row.shown).map((row): Item => asDecoded(row.item, reversesMembers));
  return { items, hasMore, nextCursor: hasMore ? toCursor(page.at(-1)?.key ?? '') : null };
}
