import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { isKnown, takesGzip } from './etag.ts';

/** Content that stays the same as long as the server runs. */
export interface FixedContent {
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called once, for the first request. */
  make(): Buffer | string;
}

/** For an address with a hash of the content. */
export const NEVER_CHANGES = { 'cache-control': 'public, max-age=31536000, immutable' };

/** For any other address: a cache asks each time whether the content is still the same. */
export const ASKED_EACH_TIME = { 'cache-control': 'no-cache' };

interface MadeContent {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

/**
 * Adds a route for content that is made, and compressed, only once. It is sent from memory, so a request costs next to
 * nothing.
 */
export function addFixedContent(
  server: FastifyInstance,
  url: string,
  { type, headers = {}, make }: FixedContent,
): void {
  let content: Promise<MadeContent> | null = null;
  server.get(url, { schema: { hide: true } }, async (request, reply) => {
    content ??= prepare(make);
    const { bytes, gzipped, tag } = await content;
    reply.headers({ ...headers, etag: tag, vary: 'accept-encoding' });
    if (isKnown(tag, request)) return reply.code(304).send();
    reply.type(type);
    return takesGzip(request.headers['accept-encoding'])
      ? reply.header('content-encoding', 'gzip').send(gzipped)
      : reply.send(bytes);
  });
}

async function prepare(make: FixedContent['make']): Promise<MadeContent> {
  const made = make();
  const bytes = typeof made === 'string' ? Buffer.from(made) : made;
  const gzipped = await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION });
  return { bytes, gzipped, tag: `W/"${hash('sha256', bytes, 'base64url')}"` };
}
