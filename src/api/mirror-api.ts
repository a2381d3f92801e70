import type { FastifyInstance, RegisterOptions } from 'fastify';
import { checkOptions } from '../settings/check-options.ts';
import type { ApiOptions } from './prepare-server.ts';
import type { ServerLogger } from './server-logger.ts';

/** An app of Fastify, which only users of the plugin have to install. */
export interface FastifyApp {
  readonly prefix: string;
  readonly log: ServerLogger;
}

/**
 * The read API over a mirror as a Fastify plugin: `app.register(mirrorApi, { prefix: '/mirror', db, token })`. It
 * checks its own tokens and has its own error envelope, independently of the other routes.
 */
export async function mirrorApi(fastifyApp: FastifyApp, pluginOptions: ApiOptions): Promise<void> {
  const app = fastifyApp as FastifyInstance;
  // Fastify passes the options of `register` itself to the plugin too.
  const { prefix, logLevel, logSerializers, ...options } = pluginOptions as ApiOptions & RegisterOptions;
  checkOptions(options);
  const { prepareServer } = await import('./prepare-server.ts');
  const { server, warnings } = await prepareServer({ logger: app.log, ...options });
  for (const warning of warnings()) app.log.warn(warning);
  await server.ready();
  // The API refuses requests with a body, so nothing is parsed here.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.all('/*', (request, reply) => {
    reply.hijack();
    request.raw.url = request.raw.url?.slice(app.prefix.length) || '/';
    server.routing(request.raw, reply.raw);
  });
  app.addHook('onClose', () => server.close());
}
