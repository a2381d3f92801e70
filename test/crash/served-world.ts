import { onTestFinished } from 'vitest';
import type { Query } from '../../src/core/ports/source.ts';
import type { World } from '../model/world.ts';
import { type Reply, startApiServer } from '../support/api-server.ts';
import type { CountedQuota } from '../support/quota-server.ts';

/**
 * A world over HTTP. `meet` is called with the number and the path of each request. If it returns false, the request
 * hangs.
 */
export async function serveWorld(
  world: World,
  meet: (number: number, path: readonly string[]) => boolean | Promise<boolean>,
  quota: CountedQuota | null = null,
): Promise<string> {
  const source = world.source();
  const api = await startApiServer(async (request) => {
    const { status, headers } = quota?.take() ?? { status: 200, headers: {} };
    const url = new URL(request.target, 'http://world.test');
    const path = url.pathname.split('/').slice(3).map(decodeURIComponent);
    if (!(await meet(api.requests.length, path))) return 'hang';
    const date = new Date(world.nowMs).toUTCString();
    if (status === 429) return { status, headers };
    return { ...(await answer(path, url.searchParams)), headers: { ...headers, date } };
  });
  onTestFinished(() => api.close());
  return api.url;

  async function answer(path: readonly string[], parameters: URLSearchParams): Promise<Reply> {
    if (path[0] === 'environments') return { body: await source.environments() };
    const { cursor = null, ...query } = queryOf(parameters);
    const page = await source.page({ path, query, cursor: cursor as string | null });
    return { body: { items: page.items, has_more: page.hasMore, next_cursor: page.nextCursor } };
  }
}

/** The query as the in-memory source sends it, because cursors are bound to it. */
function queryOf(parameters: URLSearchParams): Query {
  const given = (name: string): Query[string] => {
    if (/ids$/.test(name)) return parameters.getAll(name);
    const value = parameters.get(name) ?? '';
    return name === 'limit' ? Number(value) : value;
  };
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, given(name)]));
}
