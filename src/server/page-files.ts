import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { PAGE_POLICY } from './answer-headers.ts';
import { builtPage } from './built-page.ts';

/** The page exchanges data only with its own host, and uses scripts and styles only from its own files. */
const CONTENT_POLICY = { 'content-security-policy': `default-src 'self'; ${PAGE_POLICY}` };

/**
 * Adds the page at `/` and its files at `/ui/`. They hold no data, so they need no token. They do not count against a
 * quota: behind a proxy, all clients without a token share one, and a single client could block the page for the
 * others. A file's name contains a hash of its content, so only the page itself is revalidated.
 */
export async function addPageFiles(server: FastifyInstance, folder: string = builtPage()): Promise<void> {
  await server.register(async (open) => {
    open.addHook('onRequest', (_request, reply, done) => {
      reply.headers(CONTENT_POLICY);
      done();
    });
    await open.register(fastifyStatic, {
      root: join(folder, 'files'),
      prefix: '/ui/',
      index: false,
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    });
    open.get('/', { schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', 'no-cache').sendFile('index.html', folder, { cacheControl: false }),
    );
  });
}
