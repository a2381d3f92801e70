import { onTestFinished } from 'vitest';
import type { Query } from '../../src/core/source.ts';
import type { World } from '../model/world.ts';
import { type Reply, type ScriptedStep, startApiServer } from '../support/api-server.ts';

type Request = Parameters<Extract<ScriptedStep, (...given: never[]) => unknown>>[0];

/** A world over HTTP. `meet` is called with the number of each request before it is answered; false leaves it hanging. */
export async function serveWorld(world: World, meet: (number: number) => boolean): Promise<string> {
  const source = world.source();
  const api = await startApiServer(async (request) => {
    if (!meet(api.requests.length)) return 'hang';
    return { ...(await answer(request)), headers: { date: new Date(world.nowMs).toUTCString() } };
  });
  onTestFinished(() => api.close());
  return api.url;

  async function answer({ target }: Request): Promise<Reply> {
    const url = new URL(target, 'http://world.test');
    const path = url.pathname.split('/').slice(3).map(decodeURIComponent);
    if (path[0] === 'environments') return { body: await source.environments() };
    const { cursor = null, ...query } = queryOf(url.searchParams);
    const page = await source.page({ path, query, cursor: cursor as string | null });
    return { body: { items: page.items, has_more: page.hasMore, next_cursor: page.nextCursor } };
  }
}

/** As the source in memory gives it: cursors are bound to it. */
function queryOf(parameters: URLSearchParams): Query {
  const given = (name: string): Query[string] => {
    if (/ids$/.test(name)) return parameters.getAll(name);
    const value = parameters.get(name) ?? '';
    return name === 'limit' ? Number(value) : value;
  };
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, given(name)]));
}
