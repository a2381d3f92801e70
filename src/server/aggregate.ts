import { type SqlRow, type SqlStatement, selectValues } from '../page-data/sql.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { badRequest } from './errors.ts';
import { type ListRequest, listingNamed } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import { type ParsedQuery, readFilters } from './parameters.ts';
import { INTEGER, NUMBER } from './schemas.ts';
import { filterConditions, filterValues, valuesOf } from './statement.ts';
import { whereVisible } from './visibility.ts';

export const TABLE_ASSETS = listingNamed('table_assets');

export const bucketSchema = {
  $id: 'AggregatedBucket',
  type: 'object',
  properties: {
    score: {
      ...NUMBER,
      minimum: 0,
      maximum: 1,
      description: 'The weighted mean of the dimensions; 0 without results',
    },
    test_count: { ...INTEGER, minimum: 0 },
    bucket_at: { type: ['string', 'null'], format: 'date-time' },
  },
  required: ['score', 'test_count', 'bucket_at'],
} as const;

export const aggregateScoreSchema = {
  $id: 'AggregatedHealthScore',
  type: 'object',
  properties: {
    matched_count: {
      ...INTEGER,
      minimum: 0,
      description: 'The number of table assets that match, with or without test results',
    },
    total: { $ref: `${bucketSchema.$id}#` },
    dimensions: { type: 'array', items: { $ref: 'DimensionScore#' } },
  },
  required: ['matched_count', 'total', 'dimensions'],
} as const;

/** The health of the matching table assets. @throws HttpError 400 that lists the `ids` that are not table assets */
export function aggregateScores(
  view: MirrorSnapshot,
  request: ListRequest,
  { query, weights }: { readonly query: ParsedQuery; readonly weights: DimensionWeights },
) {
  const filters = readFilters(TABLE_ASSETS, query);
  requireTableAssets(view, request, filters['ids'] ?? []);
  const conditions = filterConditions(TABLE_ASSETS, filters);
  const values = { ...valuesOf(request), ...filterValues(filters) };
  const [count] = view.rows({ sql: `select count(*) as matched ${matchedTables(request, conditions)}`, values });
  const dimensions = view.rows({ sql: dimensionsSql(request, conditions), values }).map(toDimension);
  return { matched_count: Number(count?.['matched']), total: totalOf(dimensions, weights), dimensions };
}

/** The `from` and `where` clauses for the visible table assets that meet the conditions. */
function matchedTables({ reader }: ListRequest, conditions: readonly string[], joined = ''): string {
  const { baseFilter, visibleIf } = TABLE_ASSETS;
  const all = [baseFilter, visibleIf, 'r.deleted_at is null', ...conditions, ...whereVisible(TABLE_ASSETS, reader)];
  return `from assets r ${joined} where r.env_id = @env and ${all.join('\n and ')}`;
}

function requireTableAssets(view: MirrorSnapshot, request: ListRequest, ids: readonly string[]): void {
  const tables: SqlStatement = {
    sql: `select distinct value as id from json_each(@ids) where value not in (select r.id ${matchedTables(request, [])}
      and r.id in ${selectValues('ids')})`,
    values: { ...valuesOf(request), ids: JSON.stringify(ids) },
  };
  const others = view.rows(tables).map((row) => row['id']);
  if (others.length > 0) throw badRequest(`Not table assets: ${others.join(', ')}`);
}

/** The score of a dimension is the mean of the assets' scores, weighted by their numbers of test results. */
function dimensionsSql(request: ListRequest, conditions: readonly string[]): string {
  const scores = 'cross join asset_health_score_dimensions d on d.env_id = r.env_id and d.asset_id = r.id';
  return `select d.dimension, sum(d.score * d.test_count) / sum(d.test_count) as score, sum(d.test_count) as test_count,
      max(d.bucket_at) as bucket_at
    ${matchedTables(request, ['d.bucket_at >= @week', ...conditions], scores)}
    group by d.dimension having sum(d.test_count) > 0 order by d.dimension`;
}

function toDimension(row: SqlRow) {
  return {
    dimension: String(row['dimension']),
    score: Math.min(1, Number(row['score'])),
    test_count: Number(row['test_count']),
    bucket_at: String(row['bucket_at']),
  };
}

type DimensionScore = ReturnType<typeof toDimension>;

function totalOf(dimensions: readonly DimensionScore[], weights: DimensionWeights) {
  const weightOf = (dimension: string): number => weights.get(dimension) ?? 1;
  const sum = (of: (dimension: DimensionScore) => number): number =>
    dimensions.reduce((total, dimension) => total + of(dimension), 0);
  const weight = sum(({ dimension }) => weightOf(dimension));
  const times = dimensions.map(({ bucket_at }) => bucket_at);
  return {
    score: weight === 0 ? 0 : Math.min(1, sum(({ dimension, score }) => score * weightOf(dimension)) / weight),
    test_count: sum(({ test_count }) => test_count),
    bucket_at: times.sort().at(-1) ?? null,
  };
}
