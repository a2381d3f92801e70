import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Reader } from './access.ts';
import type { Answer, Answers } from './answers.ts';
import { ENV, type Endpoint, type EndpointOptions, endpointsOf, sharedSchemas } from './endpoints.ts';
import { permissionDenied, refusalFrom } from './errors.ts';
import { entityTag, isHeld, takesGzip } from './etag.ts';
import type { Scope } from './listings.ts';
import { prepareQuery } from './query-text.ts';
import type { Quota } from './rate-limit.ts';
import { filterSchema, pathSchema } from './schemas.ts';
import type { State } from './store.ts';
import { tellTime } from './tell-time.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The state of the mirror when the request came; null before that is known. */
    mirrorState: State | null;
    /** Whose token the request carries; null before that is known, and for strangers. */
    reader: Reader | null;
  }
  interface FastifyContextConfig {
    scope?: Scope;
  }
}

export interface Service extends EndpointOptions {
  readonly answers: Answers;
  readonly quota: Quota;
}

const ROOT = '/public/beta';
const REFUSALS = [400, 401, 403, 404, 422, 429, 500, 503];

/** Adds every endpoint of the read API; who asks is known by then. */
export function addRoutes(server: FastifyInstance, service: Service): void {
  for (const schema of sharedSchemas()) server.addSchema(schema);
  server.addHook('preValidation', (request, _reply, done) => {
    refuseDenied(request);
    prepareQuery(request);
    done();
  });
  for (const endpoint of endpointsOf(service)) addEndpoint(server, service, endpoint);
}

function addEndpoint(server: FastifyInstance, { answers, quota }: Service, endpoint: Endpoint): void {
  const { path, scope, operationId } = endpoint;
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { reader, params, query } = request as unknown as Parameters<Endpoint['respond']>[1];
    // Of the state before the one that is read, or of the same: what is told to be unchanged never was changed.
    const tag = entityTag(request.mirrorState as State, reader, request.url);
    if (isHeld(tag, request)) return reply.code(304).headers(cachedAs(tag)).send();
    const gzip = takesGzip(request.headers['accept-encoding']);
    const asking = { operationId, reader, params, query, gzip };
    const atOnce = answers.answerAtOnce(asking);
    if (atOnce !== null) return sendAnswer(reply, atOnce, tag);
    return answers.answer(asking, goneSignal(reply)).then(async (answer) => {
      await quota.charge(request, answer.cpuMs);
      return sendAnswer(reply, answer, tag);
    });
  };
  const config = scope === undefined ? {} : { scope };
  server.get([ROOT, ...path].join('/'), { schema: schemaOf(endpoint), config }, handler);
}

/** @throws Refusal where that is the answer */
function sendAnswer(reply: FastifyReply, answer: Answer, tag: string): FastifyReply {
  tellTime(reply, answer);
  if ('refusal' in answer) throw refusalFrom(answer.refusal);
  if (answer.gzipped) reply.header('content-encoding', 'gzip');
  return reply.headers(cachedAs(tag)).header('content-type', 'application/json; charset=utf-8').send(answer.body);
}

/** Whoever keeps an answer asks each time whether it still stands, and never shows it to the bearer of another token. */
function cachedAs(tag: string): Readonly<Record<string, string>> {
  return { etag: tag, 'cache-control': 'private, no-cache', vary: 'accept-encoding, authorization' };
}

/** Aborts when there is nobody any more to read the answer. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort();
  });
  return gone.signal;
}

function schemaOf({ path, operationId, summary, description, tag, query, answer }: Endpoint): FastifySchema {
  const names = path.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1));
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    querystring: query ?? filterSchema({}),
    ...(names.length === 0 ? {} : { params: pathSchema(...names) }),
    response: {
      200: answer,
      304: { type: 'null' },
      ...Object.fromEntries(REFUSALS.map((status) => [status, { $ref: 'ErrorEnvelope#' }])),
    },
  };
}

/** The two levels of access above single assets. @throws Refusal 403 */
function refuseDenied({ reader, params, routeOptions }: FastifyRequest): void {
  const env = (params as Readonly<Record<string, string>>)[ENV];
  const { scope } = routeOptions.config;
  if (env !== undefined && reader?.environments?.has(env) === false)
    throw permissionDenied(`The token cannot view environment ${env}`);
  if (scope !== undefined && reader?.scopes?.has(scope) === false)
    throw permissionDenied(`The token lacks the view scope "${scope}"`);
}
