import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Reader } from './access.ts';
import { aggregateScores } from './aggregate.ts';
import { bucketSchema, cardSchema } from './card-schema.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { ENVIRONMENT_FIELDS, listEnvironments } from './environments.ts';
import { permissionDenied } from './errors.ts';
import { getOne, listPage } from './list.ts';
import { LISTINGS, type Listing, type Scope, TABLE_FILTERS } from './listings.ts';
import { NAMES, pascal, withArticle } from './names.ts';
import type { Query } from './parameters.ts';
import { prepareQuery } from './query-text.ts';
import type { Question } from './question.ts';
import {
  filterSchema,
  innerSchemas,
  itemSchema,
  objectOf,
  pageName,
  pageSchema,
  pathSchema,
  querySchema,
  type Schema,
} from './schemas.ts';
import type { Store, View } from './store.ts';
import { tellTime } from './tell-time.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose token the request carries; null before that is known, and for strangers. */
    reader: Reader | null;
  }
  interface FastifyContextConfig {
    scope?: Scope;
  }
}

export interface Service {
  readonly store: Store;
  readonly pageMax: number;
  readonly weights: DimensionWeights;
}

const ROOT = '/public/beta';
const ENV = 'env_id';
const SCORES = ['asset-health-scores', 'aggregate'];
const REFUSALS = [400, 401, 403, 404, 422, 429, 500];

/** What of a request an endpoint answers by. */
interface Ask {
  readonly reader: Reader;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

interface Endpoint {
  readonly path: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly scope?: Scope;
  readonly query?: Schema;
  readonly answer: Schema;
  respond(view: View, ask: Ask): unknown;
}

/** Adds every endpoint of the read API; who asks is known by then. */
export function addRoutes(server: FastifyInstance, service: Service): void {
  addSchemas(server);
  server.addHook('preValidation', async (request) => {
    refuseDenied(request);
    prepareQuery(request);
  });
  const endpoints = [
    environmentsEndpoint(),
    ...LISTINGS.flatMap((listing) => [listEndpoint(listing, service.pageMax), ...oneEndpoint(listing)]),
    aggregateEndpoint(service.weights),
  ];
  for (const endpoint of endpoints) addEndpoint(server, service.store, endpoint);
}

function addSchemas(server: FastifyInstance): void {
  const items = new Map(LISTINGS.map((listing) => [listing.item, listing]));
  for (const listing of items.values()) {
    server.addSchema(itemSchema(listing));
    server.addSchema(pageSchema(listing.item));
    for (const schema of innerSchemas(listing)) server.addSchema(schema);
  }
  server.addSchema({ $id: 'Environment', ...objectOf(ENVIRONMENT_FIELDS) });
  server.addSchema(bucketSchema);
  server.addSchema(cardSchema);
}

function addEndpoint(server: FastifyInstance, store: Store, endpoint: Endpoint): void {
  const { path, scope, respond } = endpoint;
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const ask = request as unknown as Ask;
    return store.read((view) => {
      tellTime(reply, view);
      return respond(view, ask);
    });
  };
  const config = scope === undefined ? {} : { scope };
  server.get([ROOT, ...path].join('/'), { schema: schemaOf(endpoint), config }, handler);
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
    response: { 200: answer, ...Object.fromEntries(REFUSALS.map((status) => [status, { $ref: 'ErrorEnvelope#' }])) },
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

function environmentsEndpoint(): Endpoint {
  return {
    path: ['environments'],
    operationId: 'listEnvironments',
    summary: 'List environments',
    description: 'The environments that the token can view, whole: the one list without pages.',
    tag: 'Environments',
    answer: { type: 'array', items: { $ref: 'Environment#' } },
    respond: (view, { reader }) => listEnvironments(view, reader),
  };
}

function listEndpoint(listing: Listing, pageMax: number): Endpoint {
  const { entry, scope, describe } = listing;
  const { tag, many } = NAMES[entry.name];
  return {
    path: pathOf(listing),
    operationId: `list${pascal(many)}`,
    summary: `List ${many}`,
    ...(describe === undefined ? {} : { description: describe }),
    tag,
    scope,
    query: querySchema(listing, pageMax),
    answer: { $ref: `${pageName(listing.item)}#` },
    respond: (view, ask) => listPage(view, questionOf(listing, view, ask), ask.query),
  };
}

function oneEndpoint(listing: Listing): Endpoint[] {
  const { entry, scope, one, item } = listing;
  if (one === undefined) return [];
  const names = NAMES[entry.name];
  return [
    {
      path: [...pathOf(listing), `:${one.parameter}`],
      operationId: `get${pascal(names.one)}`,
      summary: `Get ${withArticle(names.one)}`,
      tag: names.tag,
      scope,
      answer: { $ref: `${item}#` },
      respond: (view, ask) => getOne(view, questionOf(listing, view, ask)),
    },
  ];
}

function aggregateEndpoint(weights: DimensionWeights): Endpoint {
  return {
    path: [`:${ENV}`, ...SCORES],
    operationId: 'aggregateAssetHealthScores',
    summary: 'Aggregate asset health scores',
    description: 'One card of the table assets that match all filters.',
    tag: NAMES.asset_health_scores.tag,
    scope: 'assets',
    query: filterSchema(TABLE_FILTERS),
    answer: { $ref: `${cardSchema.$id}#` },
    respond: (view, { reader, params, query }) => {
      const place = { env: params[ENV] ?? '', id: null, one: null };
      return aggregateScores(view, { place, reader, serverTime: view.serverTime }, query, weights);
    },
  };
}

function pathOf({ entry, parent }: Listing): string[] {
  return [`:${ENV}`, ...entry.path.map((segment) => segment.replace('{id}', `:${parent?.one?.parameter}`))];
}

function questionOf(listing: Listing, { serverTime }: View, { reader, params }: Ask): Question {
  const idOf = (of: Listing | undefined): string | null => params[of?.one?.parameter ?? ''] ?? null;
  const place = { env: params[ENV] ?? '', id: idOf(listing.parent), one: idOf(listing) };
  return { listing, reader, serverTime, place };
}
