import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { TIME_HEADER } from './answer-headers.ts';
import { addDocsPage } from './docs-page.ts';
import { LISTINGS } from './listings.ts';
import { INTEGER } from './schemas.ts';
import { addStaticContent, REVALIDATE } from './static-content.ts';

const ABOUT = `The read API of the observability service, served from a mirror. Lists are paginated: repeat the query \
with \`cursor\` set to \`next_cursor\` until \`has_more\` is false. A page may be short, even empty, before the end. To follow \
changes, store \`${TIME_HEADER}\` of the first page and read the feeds (\`synced_since\`, \`deleted_since\`) from that time on. Clients \
may use \`Date\` instead if no proxy replaces it: it is the same time without fractions of a second, so some objects may be \
repeated. After 429, wait for \`Retry-After\` seconds.`;

const ANSWERS: Readonly<Record<string, string>> = {
  200: 'The requested data',
  304: 'The answer identified by `If-None-Match` has not changed; there is no body',
  400: '`invalid_cursor`: start again without the cursor; `invalid_request`: the parameters cannot be combined, or an id belongs to another kind of object',
  401: '`unauthenticated`: the bearer token is missing or unknown',
  403: '`permission_denied`: the token may not view the environment, or lacks the scope',
  404: '`not_found`: the object does not exist, or the token may not view it',
  414: '`invalid_request`: the address is longer than 256 KB',
  422: '`invalid_request`: a parameter is unknown, or its value is not valid',
  429: '`rate_limited`: wait for `Retry-After` seconds',
  431: '`invalid_request`: the address and headers are longer than 272 KB in total, or too many',
  500: '`internal_error`: an unexpected error of the server',
  503: '`overloaded`: too many requests are waiting; try again after `Retry-After` seconds; `mirror_replaced`: the mirror file was replaced, overwritten or removed; `mirror_damaged`: the mirror file cannot be read',
};

const text = (description: string) => ({ type: 'string', description });

const HEADERS = {
  Date: text('The time of the data, without fractions of a second'),
  [TIME_HEADER]: {
    type: 'string',
    format: 'date-time',
    description: 'The time of the data, with microseconds: read the feeds from this time on',
  },
  'RateLimit-Limit': { ...INTEGER, description: 'Requests per window' },
  'RateLimit-Remaining': { ...INTEGER, description: 'Requests left in this window' },
  'RateLimit-Reset': { ...INTEGER, description: 'Seconds until the window ends' },
};
const TAG = { ETag: text('Send it back as `If-None-Match`: the answer is 304 until a sync has changed the mirror') };
/** Only described: the server reads the header itself. */
const CONDITION = {
  type: 'object',
  properties: {
    'If-None-Match': text('The `ETag` of an earlier answer: if that is still current, the answer is 304'),
  },
};
const CHALLENGE = { 'WWW-Authenticate': text('The challenge of RFC 6750') };
const WAIT = { 'Retry-After': { ...INTEGER, description: 'Seconds to wait' } };

const TAGS = [...new Set(['Environments', ...LISTINGS.map(({ names }) => names.tag)])];

/** Adds `/openapi.json`, for all routes added later, and `/docs`. Sent from memory, neither needs a token or quota. */
export async function addOpenApi(server: FastifyInstance): Promise<void> {
  await server.register(swagger, {
    stripBasePath: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Data observability read API',
        version: 'beta',
        description: ABOUT,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative to the document, because a proxy may serve both below another path.
      servers: [{ url: './' }],
      tags: TAGS.map((name) => ({ name })),
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, i) => String($id ?? `schema-${i}`) },
    transform: ({ schema, url }) => ({ url, schema: described(schema) }),
  });
  addStaticContent(server, '/openapi.json', {
    type: 'application/json; charset=utf-8',
    headers: REVALIDATE,
    make: () => JSON.stringify(server.swagger()),
  });
  addDocsPage(server);
}

/** A route with the header that all of them read, and its answers with descriptions and headers. */
function described(schema: FastifySchema): FastifySchema {
  const answers = Object.entries((schema?.response ?? {}) as Readonly<Record<string, unknown>>);
  if (answers.length === 0) return schema;
  const response = Object.fromEntries(answers.map(([status, body]) => [status, answer(status, body)]));
  return { ...schema, headers: CONDITION, response };
}

function answer(status: string, schema: unknown): object {
  const description = ANSWERS[status];
  // The type tells the plugin that there is no body.
  if (status === '304') return { type: 'null', description, headers: { ...HEADERS, ...TAG } };
  return { description, headers: headersOf(status), content: { 'application/json': { schema } } };
}

function headersOf(status: string): object {
  // These are refused before the mirror is read.
  if (status === '414' || status === '431') return {};
  if (status === '401' || status === '403') return { ...HEADERS, ...CHALLENGE };
  if (status === '200') return { ...HEADERS, ...TAG };
  return status === '429' || status === '503' ? { ...HEADERS, ...WAIT } : HEADERS;
}
