import { ENVIRONMENT_FIELDS } from '../core/schedule/environments.ts';
import type { ViewScope } from '../streams/endpoint.ts';
import type { Principal } from './access.ts';
import { aggregateScoreSchema, aggregateScores, bucketSchema, TABLE_ASSETS } from './aggregate.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { listEnvironments } from './environments.ts';
import { getOne, getSmallOne, lightPage, listPage } from './list.ts';
import { type CollectionListing, LISTINGS, listingNamed, pascal } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import type { ParsedQuery } from './parameters.ts';
import { collectionSchemas, describedObject, filterSchema, type JsonSchema, pageName, querySchema } from './schemas.ts';

/** The path parameter that names the environment. */
export const ENV = 'env_id';

export interface RequestContext {
  readonly reader: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ParsedQuery;
  readonly weights: DimensionWeights;
}

export interface ApiEndpoint {
  /** The path before `path`; that of the read API by default. */
  readonly base?: string;
  readonly path: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly scopes?: readonly ViewScope[];
  /** Whether the description of the API leaves it out. */
  readonly hidden?: true;
  readonly query?: JsonSchema;
  readonly answer: JsonSchema;
  respond(snapshot: MirrorSnapshot, context: RequestContext): unknown;
  /** The same, or its JSON, if it takes next to no time whatever the mirror holds, else null. @throws HttpError */
  respondLightly?(snapshot: MirrorSnapshot, context: RequestContext): object | string | null;
}

export function readEndpoints(): ApiEndpoint[] {
  return [
    ENVIRONMENTS_ENDPOINT,
    ...LISTINGS.flatMap((listing) => [
      listEndpoint(listing),
      ...(listing.one ? [oneEndpoint(listing, listing.one)] : []),
    ]),
    AGGREGATE_ENDPOINT,
  ];
}

/** The schemas that the endpoints' schemas refer to by `$id`. */
export function sharedSchemas(): JsonSchema[] {
  const items = new Map(LISTINGS.map((listing) => [listing.names.item, listing]));
  return [
    ...[...items.values()].flatMap(collectionSchemas),
    { $id: 'Environment', ...describedObject(ENVIRONMENT_FIELDS) },
    bucketSchema,
    aggregateScoreSchema,
  ];
}

const ENVIRONMENTS_ENDPOINT: ApiEndpoint = {
  path: ['environments'],
  operationId: 'listEnvironments',
  summary: 'List environments',
  description: 'All environments that the token may view. It is the only list without pages.',
  tag: 'Environments',
  answer: { type: 'array', items: { $ref: 'Environment#' } },
  respond: (view, { reader }) => listEnvironments(view, reader),
};

function listEndpoint(listing: CollectionListing): ApiEndpoint {
  const { scope, describe } = listing.entry.serve;
  const { tag, many, item } = listing.names;
  return {
    path: pathOf(listing),
    operationId: `list${pascal(many)}`,
    summary: `List ${many}`,
    ...(describe === undefined ? {} : { description: describe }),
    tag,
    scopes: [scope],
    query: querySchema(listing),
    answer: { $ref: `${pageName(item)}#` },
    respond: (view, request) => listPage(view, listRequestOf(listing, view, request), request.query),
    respondLightly: (view, request) => lightPage(view, listRequestOf(listing, view, request), request.query),
  };
}

function oneEndpoint(listing: CollectionListing, { parameter }: NonNullable<CollectionListing['one']>): ApiEndpoint {
  const { entry, names } = listing;
  return {
    path: [...pathOf(listing), `:${parameter}`],
    operationId: `get${pascal(names.one)}`,
    summary: `Get ${/^[aeiou]/i.test(names.one) ? 'an' : 'a'} ${names.one}`,
    tag: names.tag,
    scopes: [entry.serve.scope],
    answer: { $ref: `${names.item}#` },
    respond: (view, request) => getOne(view, listRequestOf(listing, view, request)),
    respondLightly: (view, request) => getSmallOne(view, listRequestOf(listing, view, request)),
  };
}

const AGGREGATE_ENDPOINT: ApiEndpoint = {
  path: [`:${ENV}`, 'asset-health-scores', 'aggregate'],
  operationId: 'aggregateAssetHealthScores',
  summary: 'Aggregate asset health scores',
  description: 'The scores of all table assets that match all filters, in one object.',
  tag: listingNamed('asset_health_scores').names.tag,
  scopes: ['assets'],
  query: filterSchema(TABLE_ASSETS.filters),
  answer: { $ref: `${aggregateScoreSchema.$id}#` },
  respond: (view, request) => aggregateScores(view, listRequestOf(TABLE_ASSETS, view, request), request),
};

function pathOf({ entry, parent }: CollectionListing): string[] {
  return [`:${ENV}`, ...entry.path.map((segment) => segment.replace('{id}', `:${parent?.one?.parameter}`))];
}

function listRequestOf(listing: CollectionListing, { serverTime }: MirrorSnapshot, { reader, params }: RequestContext) {
  const idOf = (of: CollectionListing | undefined): string | null => params[of?.one?.parameter ?? ''] ?? null;
  const place = { env: params[ENV] ?? '', id: idOf(listing.parent), one: idOf(listing) };
  return { listing, reader, serverTime, place };
}
