import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { goOn } from './go-on.ts';
import type { RequestQuota } from './rate-limit.ts';
import { TIME_HEADER } from './set-date-header.ts';

const ABOUT = `The read API of the observability service, served from a mirror. Lists are read page by page: follow \
\`next_cursor\` with the same query until \`has_more\` is false; a page may be short, even empty, before. To follow changes, \
note \`${TIME_HEADER}\` of the first page and ask the feeds (\`synced_since\`, \`deleted_since\`) from there the next time. Clients \
that go by \`Date\` may do so where no proxy replaces it: it is the same time cut to the second, so objects may come again. After \
429 wait for \`Retry-After\`.`;

const ANSWERS: Readonly<Record<string, string>> = {
  200: 'What was asked for',
  304: 'What `If-None-Match` names still stands: nothing is sent',
  400: '`invalid_cursor`: start again without it; `invalid_request`: parameters exclude each other, or an id is of another kind',
  401: '`unauthenticated`: the bearer token is missing or unknown',
  403: '`permission_denied`: the token cannot view the environment, or lacks the scope',
  404: '`not_found`: it does not exist, or the token cannot view it',
  422: '`invalid_request`: the value of a parameter is not valid',
  429: '`rate_limited`: wait for `Retry-After` seconds',
  500: '`internal_error`: unexpected',
  503: '`overloaded`: too many requests wait: try again after `Retry-After` seconds; `mirror_replaced`: the mirror file was replaced or removed',
};

const COUNT = { type: 'integer' };
const HEADERS = {
  Date: { type: 'string', description: 'The time of what is shown, cut to the second' },
  [TIME_HEADER]: {
    type: 'string',
    format: 'date-time',
    description: 'The time of what is shown, with microseconds: the feeds go on from there',
  },
  'RateLimit-Limit': { ...COUNT, description: 'Requests in a window' },
  'RateLimit-Remaining': { ...COUNT, description: 'Requests left' },
  'RateLimit-Reset': { ...COUNT, description: 'Seconds until the window ends' },
};
const TAG = {
  ETag: {
    type: 'string',
    description: 'Sent back as `If-None-Match`, it is answered with 304 until a sync has written anything',
  },
};
const WAIT = { 'Retry-After': { ...COUNT, description: 'Seconds to wait' } };

/** The page loads nothing from other hosts, and sends nothing there. */
const OWN_HOST_ALONE = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'";

const BLANK = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const LOGO = { type: 'image/svg+xml', content: BLANK };

/** Without the bar and the signs of the page's makers. */
const THEME = {
  title: 'Data observability read API',
  css: [{ filename: 'own.css', content: '.swagger-ui .topbar { display: none }' }],
  favicon: [
    {
      filename: 'none.svg',
      rel: 'icon',
      type: 'image/svg+xml',
      sizes: 'any',
      content: BLANK,
    },
  ],
};

/**
 * The description of all routes added later, at `/openapi.json`, and a page to browse it at `/docs`; both without a
 * token, and counted against the address that asks.
 */
export async function addDescription(server: FastifyInstance, { count }: RequestQuota): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Data observability read API',
        version: 'beta',
        description: ABOUT,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, i) => String($id ?? `schema-${i}`) },
    transform: ({ schema, url }) => ({ url, schema: withAnswers(schema) }),
  });
  // Made once: 120 KB that strangers may ask for.
  let description: Buffer | null = null;
  await server.register(async (open) => {
    open.addHook('onRequest', (request, reply, done) => goOn(count(request, reply), done));
    await open.register(swaggerUi, { routePrefix: '/docs', staticCSP: OWN_HOST_ALONE, theme: THEME, logo: LOGO });
    open.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
      description ??= Buffer.from(JSON.stringify(server.swagger()));
      return reply.type('application/json; charset=utf-8').send(description);
    });
  });
}

/** What a route answers with, in words and with the headers that come along. */
function withAnswers(schema: FastifySchema): FastifySchema {
  const answers = Object.entries((schema?.response ?? {}) as Readonly<Record<string, unknown>>);
  if (answers.length === 0) return schema;
  return { ...schema, response: Object.fromEntries(answers.map(([status, body]) => [status, answer(status, body)])) };
}

function answer(status: string, schema: unknown): object {
  const description = ANSWERS[status];
  if (status === '304') return { description, headers: { ...HEADERS, ...TAG } };
  return { description, headers: headersOf(status), content: { 'application/json': { schema } } };
}

function headersOf(status: string): object {
  if (status === '200') return { ...HEADERS, ...TAG };
  return status === '429' || status === '503' ? { ...HEADERS, ...WAIT } : HEADERS;
}
