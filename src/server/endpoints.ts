import type { Reader } from './access.ts';
import { aggregateScores } from './aggregate.ts';
import { bucketSchema, cardSchema } from './card-schema.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { ENVIRONMENT_FIELDS, listEnvironments } from './environments.ts';
import { getOne, getSmallOne, lightPage, listPage } from './list.ts';
import { LISTINGS, type Listing, type Scope, TABLE_FILTERS } from './listings.ts';
import { NAMES, pascal, withArticle } from './names.ts';
import type { Query } from './parameters.ts';
import type { Question } from './question.ts';
import {
  filterSchema,
  innerSchemas,
  itemSchema,
  objectOf,
  pageName,
  pageSchema,
  querySchema,
  type Schema,
} from './schemas.ts';
import type { View } from './store.ts';

/** The parameter of a path that names the environment. */
export const ENV = 'env_id';
const SCORES = ['asset-health-scores', 'aggregate'];

/** What of a request an endpoint answers by. */
export interface Ask {
  readonly reader: Reader;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

export interface Endpoint {
  readonly path: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly scope?: Scope;
  readonly query?: Schema;
  readonly answer: Schema;
  respond(view: View, ask: Ask): unknown;
  /** The same where it takes next to no time whatever the mirror holds, else null; never when left out. @throws Refusal */
  respondLightly?(view: View, ask: Ask): unknown;
  /** The same, written out already. @throws Refusal */
  writeLightly?(view: View, ask: Ask): string | null;
}

export interface EndpointOptions {
  readonly pageMax: number;
  readonly weights: DimensionWeights;
}

/** Every endpoint of the read API, as data. */
export function endpointsOf({ pageMax, weights }: EndpointOptions): Endpoint[] {
  return [
    environmentsEndpoint(),
    ...LISTINGS.flatMap((listing) => [listEndpoint(listing, pageMax), ...oneEndpoint(listing)]),
    aggregateEndpoint(weights),
  ];
}

/** What the endpoints' own schemas refer to, by `$id`. */
export function sharedSchemas(): (Schema & { readonly $id: string })[] {
  const items = new Map(LISTINGS.map((listing) => [listing.item, listing]));
  return [
    ...[...items.values()].flatMap((listing) => [
      itemSchema(listing),
      pageSchema(listing.item),
      ...innerSchemas(listing),
    ]),
    { $id: 'Environment', ...objectOf(ENVIRONMENT_FIELDS) },
    bucketSchema,
    cardSchema,
  ] as (Schema & { readonly $id: string })[];
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
    writeLightly: (view, ask) => lightPage(view, questionOf(listing, view, ask), ask.query),
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
      respondLightly: (view, ask) => getSmallOne(view, questionOf(listing, view, ask)),
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
