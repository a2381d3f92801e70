import { SyncError } from '../../src/core/errors.ts';
import type { Query } from '../../src/core/ports/source.ts';
import type { World } from '../model/world.ts';
import { type ApiServer, type Reply, startApiServer } from './api-server.ts';

const CODES: Readonly<Partial<Record<SyncError['recovery'], [number, string]>>> = {
  token: [401, 'unauthenticated'],
  forbidden: [403, 'permission_denied'],
  'not-live': [404, 'not_found'],
  'restart-read': [400, 'invalid_cursor'],
};

/**
 * The model of the service behind a real server. `quota` returns the headers of every response. `meet` is called before
 * each request with its number, and may answer in place of the service.
 */
export function serveWorld(
  world: World,
  quota: () => Readonly<Record<string, string>> = () => ({}),
  meet: (number: number) => Reply | undefined = () => undefined,
): Promise<ApiServer> {
  let number = 0;
  return startApiServer(async ({ target }): Promise<Reply> => {
    const met = meet(++number);
    if (met !== undefined) return met;
    const { pathname, searchParams } = new URL(target, 'http://world.test');
    const path = pathname.split('/').slice(3).map(decodeURIComponent);
    const source = world.source();
    const headers = () => ({ date: new Date(world.nowMs).toUTCString(), ...quota() });
    try {
      if (path[0] === 'environments') return { body: await source.environments(), headers: headers() };
      const query = queryOf(searchParams);
      const page = await source.page({ path, query, cursor: searchParams.get('cursor') });
      const body = { items: page.items, has_more: page.hasMore, next_cursor: page.nextCursor };
      return { body, headers: headers() };
    } catch (error) {
      const [status, code] = (error instanceof SyncError && CODES[error.recovery]) || [500, 'internal'];
      return { status, body: { error: { code, message: String(error) } }, headers: headers() };
    }
  });
}

function queryOf(parameters: URLSearchParams): Query {
  const names = [...new Set(parameters.keys())].filter((name) => name !== 'cursor');
  return Object.fromEntries(
    names.map((name) => [name, name.endsWith('ids') ? parameters.getAll(name) : (parameters.get(name) ?? '')]),
  );
}
