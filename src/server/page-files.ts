import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { PAGE_POLICY } from './answer-headers.ts';
import { builtPage } from './built-page.ts';

/**
 * The page loads nothing from other hosts, sends nothing to them, and runs and applies only what stands in its own
 * files.
 */
const CONTENT_POLICY = { 'content-security-policy': `default-src 'self'; ${PAGE_POLICY}` };

/**
 * Adds the page at `/` and its files at `/ui/`. Neither needs a token, because they hold no data, and neither counts
 * against a quota: behind a proxy all clients without a token share one, and a single one of them could take the page
 * from the others. A file has a hash of its contents in its name, so it never changes; only the page itself is asked
 * for again.
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
