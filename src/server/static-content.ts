import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { acceptsGzip, hasAnyTag, matchesTag } from './etag.ts';

/** Content that does not change while the server runs. */
export interface StaticContent {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, on the first request. */
  make(): Buffer | string;
}

/** For addresses that contain a hash of the content. */
export const CACHE_FOREVER = { 'cache-control': 'public, max-age=31536000, immutable' };

/** For all other addresses: caches check each time whether the content has changed. */
export const REVALIDATE = { 'cache-control': 'no-cache' };

/** Adds a route for content that is built and compressed once, then sent from memory at almost no cost. */
export function addStaticContent(server: FastifyInstance, url: string, { type, headers, make }: StaticContent): void {
  let content: ReturnType<typeof prepare> | null = null;
  server.get(url, { schema: { hide: true } }, async (request, reply) => {
    content ??= prepare(make);
    const { bytes, gzipped, tag } = await content;
    reply.headers({ ...headers, etag: tag, vary: 'accept-encoding' });
    if (matchesTag(tag, request) || hasAnyTag(request)) return reply.code(304).send();
    reply.type(type);
    return acceptsGzip(request.headers['accept-encoding'])
      ? reply.header('content-encoding', 'gzip').send(gzipped)
      : reply.send(bytes);
  });
}

async function prepare(make: StaticContent['make']) {
  const content = make();
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const gzipped = await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION });
  return { bytes, gzipped, tag: `W/"${hash('sha256', bytes, 'base64url')}"` };
}
