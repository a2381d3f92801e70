import type { Instant } from '../core/time/instant.ts';
import { assetColumns, assetDetail } from '../page-data/asset-detail.ts';
import { DEFAULT_PARAMETERS, TREND_DAYS } from '../page-data/default-parameters.ts';
import { failingNow } from '../page-data/failing-now.ts';
import { mirrorTrust } from '../page-data/mirror-trust.ts';
import { lineageNode, neighboursOf } from '../page-data/neighbours.ts';
import type { PageScope } from '../page-data/page-scope.ts';
import { searchAssets } from '../page-data/search-assets.ts';
import { TEST_GROUPINGS } from '../page-data/test-groups.ts';
import { trends } from '../page-data/trends.ts';
import { untestedTables } from '../page-data/untested-tables.ts';
import { VIEW_SCOPES, type ViewScope } from '../streams/endpoint.ts';
import { hasScope } from './access.ts';
import { type ApiEndpoint, ENV, type RequestContext } from './endpoints.ts';
import { notFound } from './errors.ts';
import { pascal } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import type { ParsedQuery } from './parameters.ts';
import type { JsonSchema } from './schemas.ts';
import { isLimited, readerNumber, VISIBLE_IDS } from './visibility.ts';

interface PageView {
  /** `assets` by default. */
  readonly scopes?: readonly ViewScope[];
  readonly query: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  /** Null if the requested thing does not exist. `query` has the types of its schema, and defaults are filled in. */
  answer(scope: PageScope, query: never, serverTime: Instant): unknown;
}

/** Ids have no maximum length, as in paths. */
const ID: JsonSchema = { type: 'string', minLength: 1 };
const OFFSET: JsonSchema = { type: 'integer', minimum: 0, maximum: 1_000_000, default: DEFAULT_PARAMETERS.offset };
const OF: JsonSchema = { type: 'string', enum: ['assets', 'columns'], default: DEFAULT_PARAMETERS.of };

const limitSchema = (maximum: number, defaultValue: number): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum,
  default: defaultValue,
});

const RANGE = { limit: limitSchema(500, DEFAULT_PARAMETERS.limit), offset: OFFSET };

const VIEWS: Readonly<Record<string, PageView>> = {
  failing: {
    scopes: VIEW_SCOPES,
    query: RANGE,
    answer: failingNow,
  },
  trends: {
    scopes: VIEW_SCOPES,
    query: {
      by: { type: 'string', enum: TEST_GROUPINGS },
      days: limitSchema(Math.max(...TREND_DAYS), DEFAULT_PARAMETERS.days),
    },
    answer: trends,
  },
  untested: {
    scopes: VIEW_SCOPES,
    query: { ...RANGE, all: { type: 'boolean', default: DEFAULT_PARAMETERS.all } },
    answer: untestedTables,
  },
  search: {
    query: { q: { type: 'string', maxLength: 200 } },
    required: ['q'],
    answer: searchAssets,
  },
  asset: {
    query: { id: ID },
    required: ['id'],
    answer: assetDetail,
  },
  columns: {
    query: { asset_id: ID, offset: OFFSET },
    required: ['asset_id'],
    answer: assetColumns,
  },
  node: {
    query: { id: ID, of: OF },
    required: ['id'],
    answer: lineageNode,
  },
  neighbours: {
    query: {
      id: ID,
      of: OF,
      direction: { type: 'string', enum: ['upstream', 'downstream'] },
      limit: limitSchema(100, 24),
      offset: OFFSET,
    },
    required: ['id', 'direction'],
    answer: neighboursOf,
  },
};

export function pageEndpoints(): ApiEndpoint[] {
  return [MIRROR_ENDPOINT, ...Object.entries(VIEWS).map(([name, view]) => viewEndpoint(name, view))];
}

/**
 * What all endpoints of the page's own data share. It is not part of the read API and may change in any version: it is
 * not in the OpenAPI document, and serialized without a schema.
 */
const PAGE_ENDPOINT = { base: '/page', hidden: true, tag: 'Page', summary: '', answer: {} } as const;

const MIRROR_ENDPOINT: ApiEndpoint = {
  ...PAGE_ENDPOINT,
  path: ['mirror'],
  operationId: 'pageMirror',
  respond(view, { reader }) {
    const deniedScopes = VIEW_SCOPES.filter((scope) => !hasScope(reader, scope));
    const limits = { environments: reader.environments, deniedScopes, seesSomeAssets: isLimited(reader) };
    return mirrorTrust(view, limits);
  },
};

function viewEndpoint(name: string, { scopes = ['assets'], query, required = [], answer }: PageView): ApiEndpoint {
  return {
    ...PAGE_ENDPOINT,
    path: ['environments', `:${ENV}`, name],
    operationId: `page${pascal(name)}`,
    scopes,
    query: { type: 'object', properties: query, required },
    respond(view, request) {
      const found = answer(pageScopeOf(view, request), request.query as never, view.serverTime);
      if (found === null) throw notFound(nameOf(request.query));
      return found;
    },
  };
}

/** The name of what was not found, as in the read API. */
function nameOf({ id, asset_id: assetId, of }: ParsedQuery): string {
  return `${of === 'columns' ? 'Column' : 'Asset'} ${id ?? assetId}`;
}

/** What the reader may see of the environment. The visible assets are already cached. */
function pageScopeOf(reads: MirrorSnapshot, { reader, params }: RequestContext): PageScope {
  return {
    reads,
    env: params[ENV] ?? '',
    limit: isLimited(reader) ? { ids: VISIBLE_IDS, values: { reader: readerNumber(reader) } } : null,
    seesTests: hasScope(reader, 'tests'),
  };
}
