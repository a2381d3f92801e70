import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { API_PATH } from '../core/read-api.ts';
import type { ViewScope } from '../streams/endpoint.ts';
import { hasScope, type Principal } from './access.ts';
import { setDateHeader } from './answer-headers.ts';
import type { EndpointAnswer, EndpointAnswers } from './answers.ts';
import { type ApiEndpoint, ENV, readEndpoints, sharedSchemas } from './endpoints.ts';
import { httpErrorFrom, permissionDenied } from './errors.ts';
import { acceptsGzip, entityTag, hasAnyTag, matchesTag } from './etag.ts';
import type { MirrorReads, MirrorState } from './mirror-reads.ts';
import { normalizeQuery } from './normalize-query.ts';
import { pageEndpoints } from './page-endpoints.ts';
import type { RequestQuota } from './rate-limit.ts';
import { filterSchema, pathSchema } from './schemas.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The state of the mirror when the request arrived; null before it was read. */
    mirrorState: MirrorState | null;
    /** The token's owner; null before the token was checked, and for an unknown token. */
    reader: Principal | null;
  }
  interface FastifyContextConfig {
    scopes?: readonly ViewScope[];
  }
}

interface RoutesOptions {
  readonly answers: EndpointAnswers;
  readonly quota: RequestQuota;
  readonly store: Pick<MirrorReads, 'state' | 'refuseReplaced'>;
}

const ERROR_STATUSES = [400, 401, 403, 404, 414, 422, 429, 431, 500, 503];

/** Adds every endpoint of the read API and of the page. The token has already been checked. */
export function addRoutes(server: FastifyInstance, options: RoutesOptions): void {
  for (const schema of sharedSchemas()) server.addSchema(schema);
  server.addHook('preValidation', (request, _reply, done) => {
    requirePermission(request);
    normalizeQuery(request);
    done();
  });
  for (const endpoint of [...readEndpoints(), ...pageEndpoints()]) addEndpoint(server, options, endpoint);
}

function addEndpoint(server: FastifyInstance, { answers, quota, store }: RoutesOptions, endpoint: ApiEndpoint): void {
  const { base = API_PATH, path, scopes = [], operationId } = endpoint;
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { reader, params, query } = request as unknown as Parameters<ApiEndpoint['respond']>[1];
    const state = request.mirrorState as MirrorState;
    const tag = entityTag(state, reader, request.url);
    setDateHeader(reply, { now: state.clockOf(params[ENV]) });
    if (matchesTag(tag, request)) {
      store.refuseReplaced();
      return reply.code(304).headers(cacheHeaders(tag)).send();
    }
    const gzip = acceptsGzip(request.headers['accept-encoding']);
    const admitted = { operationId, reader, params, query, gzip };
    // An answer that may come from a later state gets no tag: a tag identifies one answer.
    const tagOf = (stateRead: MirrorState): string | null => {
      store.refuseReplaced();
      return stateRead === state ? tag : null;
    };
    const atOnce = answers.answerAtOnce?.(admitted);
    if (atOnce) return sendAnswer(request, reply, atOnce, tagOf(atOnce.state));
    return answers.answer(admitted, request.signal).then(async (answer) => {
      const tagRead = tagOf(store.state());
      await quota.charge(request, answer.cpuMs);
      return sendAnswer(request, reply, answer, tagRead);
    });
  };
  server.get([base, ...path].join('/'), { schema: schemaOf(endpoint), config: { scopes } }, handler);
}

/** @throws HttpError if the answer is an error */
function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: EndpointAnswer, tag: string | null) {
  setDateHeader(reply, answer);
  if ('refusal' in answer) throw httpErrorFrom(answer.refusal);
  reply.headers(cacheHeaders(tag));
  // Only the answer shows whether there is anything at the address.
  if (hasAnyTag(request)) return reply.code(304).send();
  if (answer.gzipped) reply.header('content-encoding', 'gzip');
  return reply.header('content-type', 'application/json; charset=utf-8').send(answer.body);
}

/** A cache must check each time whether its answer is still valid, and must not serve it to another token. */
function cacheHeaders(tag: string | null): Readonly<Record<string, string>> {
  return {
    ...(tag === null ? {} : { etag: tag }),
    'cache-control': 'private, no-cache',
    vary: 'accept-encoding, authorization',
  };
}

function schemaOf({ path, operationId, summary, description, tag, query, answer, hidden }: ApiEndpoint): FastifySchema {
  const names = path.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1));
  return {
    operationId,
    ...(hidden === undefined ? {} : { hide: hidden }),
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    querystring: query ?? filterSchema({}),
    ...(names.length === 0 ? {} : { params: pathSchema(...names) }),
    response: {
      200: answer,
      304: { type: 'null' },
      ...Object.fromEntries(ERROR_STATUSES.map((status) => [status, { $ref: 'ErrorEnvelope#' }])),
    },
  };
}

/** Checks the token's environments and scopes. @throws HttpError 403 */
function requirePermission({ reader, params, routeOptions }: FastifyRequest): void {
  const env = (params as Readonly<Record<string, string>>)[ENV];
  const { scopes = [] } = routeOptions.config;
  if (env !== undefined && reader?.environments?.has(env) === false)
    throw permissionDenied(`The token cannot view environment ${env}`);
  const missing = scopes.find((scope) => reader !== null && !hasScope(reader, scope));
  if (missing !== undefined) throw permissionDenied(`The token lacks the view scope "${missing}"`);
}
