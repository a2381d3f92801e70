import type { Instant } from '../core/time/instant.ts';
import { assetColumns, assetDetail } from '../page-data/asset-detail.ts';
import { DEFAULT_PARAMETERS, TREND_DAYS } from '../page-data/default-parameters.ts';
import { failingNow, type PageRange } from '../page-data/failing-now.ts';
import { mirrorTrust } from '../page-data/mirror-trust.ts';
import { lineageNode, neighboursOf } from '../page-data/neighbours.ts';
import type { PageScope } from '../page-data/page-scope.ts';
import { searchAssets } from '../page-data/search-assets.ts';
import { TEST_GROUPINGS, type TestGrouping } from '../page-data/test-groups.ts';
import { trends } from '../page-data/trends.ts';
import { untestedTables } from '../page-data/untested-tables.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { VIEW_SCOPES, type ViewScope } from '../streams/endpoint.ts';
import type { Principal } from './access.ts';
import { type ApiEndpoint, ENV, type RequestContext } from './endpoints.ts';
import { notFound } from './errors.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import { pascal } from './names.ts';
import type { ParsedQuery } from './parameters.ts';
import type { JsonSchema } from './schemas.ts';
import { isLimited, readerNumber, VISIBLE_IDS } from './visibility.ts';

/** The path of the page's own data. It is not part of the read API and may change in any version. */
const PAGE_PATH = '/page';

/** A view of one environment. `answer` returns null if the requested thing does not exist. */
interface PageView {
  readonly scopes: readonly ViewScope[];
  readonly query: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  answer(scope: PageScope, query: ParsedQuery, serverTime: Instant): unknown;
}

/** Ids have no maximum length, as in paths. */
const ID: JsonSchema = { type: 'string', minLength: 1 };
const MAX_SEARCH_CHARACTERS = 200;
const OFFSET: JsonSchema = { type: 'integer', minimum: 0, maximum: 1_000_000, default: DEFAULT_PARAMETERS.offset };
const OF: JsonSchema = { type: 'string', enum: ['assets', 'columns'], default: DEFAULT_PARAMETERS.of };

const limitSchema = (maximum: number, defaultValue: number): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum,
  default: defaultValue,
});

/** The schemas have already checked the query and applied defaults. */
const rangeOf = ({ limit, offset }: ParsedQuery): PageRange => ({ limit: Number(limit), offset: Number(offset) });

const nodeOf = (query: ParsedQuery) => ({
  id: String(query['id']),
  of: query['of'] === 'columns' ? ('columns' as const) : ('assets' as const),
});

const BOTH = VIEW_SCOPES;
const ASSETS = ['assets'] as const;

const VIEWS: Readonly<Record<string, PageView>> = {
  failing: {
    scopes: BOTH,
    query: { limit: limitSchema(500, DEFAULT_PARAMETERS.limit), offset: OFFSET },
    answer: (scope, query) => failingNow(scope, rangeOf(query)),
  },
  trends: {
    scopes: BOTH,
    query: {
      by: { type: 'string', enum: TEST_GROUPINGS },
      days: limitSchema(Math.max(...TREND_DAYS), DEFAULT_PARAMETERS.days),
    },
    answer: (scope, { by, days }, until) =>
      trends(scope, { by: (by as TestGrouping | undefined) ?? null, days: Number(days), until }),
  },
  untested: {
    scopes: BOTH,
    query: {
      limit: limitSchema(500, DEFAULT_PARAMETERS.limit),
      offset: OFFSET,
      all: { type: 'boolean', default: DEFAULT_PARAMETERS.all },
    },
    answer: (scope, query) => untestedTables(scope, { ...rangeOf(query), all: query['all'] === true }),
  },
  search: {
    scopes: ASSETS,
    query: { q: { type: 'string', maxLength: MAX_SEARCH_CHARACTERS } },
    required: ['q'],
    answer: (scope, { q }) => searchAssets(scope, String(q)),
  },
  asset: {
    scopes: ASSETS,
    query: { id: ID },
    required: ['id'],
    answer: (scope, { id }) => assetDetail(scope, String(id)),
  },
  columns: {
    scopes: ASSETS,
    query: { asset_id: ID, offset: OFFSET },
    required: ['asset_id'],
    answer: (scope, query) =>
      assetColumns(scope, { assetId: String(query['asset_id']), offset: Number(query['offset']) }),
  },
  node: {
    scopes: ASSETS,
    query: { id: ID, of: OF },
    required: ['id'],
    answer: (scope, query) => lineageNode(scope, nodeOf(query)),
  },
  neighbours: {
    scopes: ASSETS,
    query: {
      id: ID,
      of: OF,
      direction: { type: 'string', enum: ['upstream', 'downstream'] },
      limit: limitSchema(100, 24),
      offset: OFFSET,
    },
    required: ['id', 'direction'],
    answer: (scope, query) =>
      neighboursOf(scope, {
        ...nodeOf(query),
        ...rangeOf(query),
        direction: query['direction'] === 'upstream' ? 'upstream' : 'downstream',
      }),
  },
};

export function pageEndpoints(): ApiEndpoint[] {
  return [mirrorEndpoint(), ...Object.entries(VIEWS).map(([name, view]) => viewEndpoint(name, view))];
}

/** What all endpoints of the page share: not in the OpenAPI document, and serialized without a schema. */
const PAGE_ENDPOINT = { base: PAGE_PATH, hidden: true, tag: 'Page', summary: '', answer: {} } as const;

function mirrorEndpoint(): ApiEndpoint {
  return {
    ...PAGE_ENDPOINT,
    path: ['mirror'],
    operationId: 'pageMirror',
    respond: (view, { reader }) => mirrorTrust(view, trustReaderOf(reader), CATALOGUE),
  };
}

const trustReaderOf = (reader: Principal) => ({
  environments: reader.environments,
  deniedScopes: VIEW_SCOPES.filter((scope) => !hasScope(reader, scope)),
  seesSomeAssets: isLimited(reader),
});

const hasScope = ({ scopes }: Principal, scope: ViewScope): boolean => scopes?.has(scope) ?? true;

function viewEndpoint(name: string, { scopes, query, required = [], answer }: PageView): ApiEndpoint {
  return {
    ...PAGE_ENDPOINT,
    path: ['environments', `:${ENV}`, name],
    operationId: `page${pascal(name)}`,
    scopes,
    query: { type: 'object', properties: query, required },
    respond(view, request) {
      const found = answer(pageScopeOf(view, request), request.query, view.serverTime);
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
