import { join } from 'node:path';
import fastify from 'fastify';
import { inject, onTestFinished } from 'vitest';
import { addPageFiles } from '../../src/server/page-files.ts';

/** The response to one query of the page. */
export interface FixtureReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A reply that depends on the query. */
type FixtureAnswering = (query: Readonly<Record<string, string>>) => FixtureReply;

export type FixtureReplies = Readonly<Record<string, FixtureReply | FixtureAnswering>>;

/** Serves the page with fixed data, for states that a real mirror is rarely in. */
export interface FixtureServer {
  readonly url: string;
  /** By the path after `/page/`, without the query string. */
  readonly replies: Map<string, FixtureReply | FixtureAnswering>;
  /** The received requests, as `name?query`, with the relevant headers. */
  readonly asked: { readonly path: string; readonly authorization: string | null; readonly tag: string | null }[];
}

/** The page, built for these tests. */
export const builtPage = (): string => join(inject('compiled'), 'ui');

/** Answers 304 if the request has the tag of the current response. Closed when the test ends. */
export async function serveFixture(replies: FixtureReplies): Promise<FixtureServer> {
  const server = fastify();
  onTestFinished(() => server.close());
  await addPageFiles(server, builtPage());
  const held = new Map(Object.entries(replies));
  const asked: FixtureServer['asked'] = [];
  server.get('/page/*', (request, reply) => {
    const path = request.url.slice('/page/'.length);
    const { authorization = null, 'if-none-match': tag = null } = request.headers;
    asked.push({ path, authorization, tag });
    const known = held.get(path.split('?', 1)[0] ?? '') ?? NOT_THERE;
    const {
      status = 200,
      headers = {},
      body = {},
    } = typeof known === 'function' ? known(request.query as Record<string, string>) : known;
    if (tag !== null && tag === headers['etag']) return reply.status(304).headers(headers).send();
    return reply.status(status).headers(headers).send(body);
  });
  const url = await server.listen({ port: 0 });
  return { url, replies: held, asked };
}

const NOT_THERE: FixtureReply = {
  status: 404,
  body: { error: { code: 'not_found', message: 'There is no such answer' } },
};
