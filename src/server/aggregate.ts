import type { Instant } from '../core/instant.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { badRequest } from './errors.ts';
import { valuesIn } from './filters.ts';
import type { Row } from './item.ts';
import { TABLE_ASSETS } from './listings.ts';
import { type Query, readFilters } from './parameters.ts';
import type { Question, Statement } from './question.ts';
import { filterConditions, filterValues, valuesOf } from './statement.ts';
import type { View } from './store.ts';
import { visible } from './visibility.ts';

interface Score {
  readonly score: number;
  readonly test_count: number;
  readonly bucket_at: Instant | null;
}

interface Card {
  readonly matched_count: number;
  readonly total: Score;
  readonly dimensions: readonly (Score & { readonly dimension: string })[];
}

const ZERO: Score = { score: 0, test_count: 0, bucket_at: null };

/** The aggregated health of the table assets that match. @throws Refusal 400 that lists the `ids` that are no table assets */
export function aggregateScores(
  view: View,
  asking: Omit<Question, 'listing'>,
  query: Query,
  weights: DimensionWeights,
): Card {
  const filters = readFilters(TABLE_ASSETS, query);
  const question = { ...asking, listing: TABLE_ASSETS };
  refuseOthers(view, question, filters['ids'] ?? []);
  const conditions = filterConditions(TABLE_ASSETS, filters);
  const values = { ...valuesOf(question), ...filterValues(filters) };
  const [count] = view.rows({ sql: `select count(*) as matched ${matchedTables(question, conditions)}`, values });
  const dimensions = view.rows({ sql: dimensionsSql(question, conditions), values }).map(toDimension);
  return { matched_count: Number(count?.['matched']), total: totalOf(dimensions, weights), dimensions };
}

/** The table assets the reader sees that match the conditions, each with rows that are joined; `from … where …`. */
function matchedTables({ reader }: Question, conditions: readonly string[], joined = ''): string {
  const { where, shows } = TABLE_ASSETS;
  const all = [where, shows, 'r.deleted_at is null', ...conditions, ...visible(TABLE_ASSETS, reader)];
  return `from assets r ${joined} where r.env_id = @env and ${all.join('\n and ')}`;
}

function refuseOthers(view: View, question: Question, ids: readonly string[]): void {
  const tables: Statement = {
    sql: `select distinct value as id from json_each(@ids) where value not in (select r.id ${matchedTables(question, [])}
      and r.id in ${valuesIn('ids')})`,
    values: { ...valuesOf(question), ids: JSON.stringify(ids) },
  };
  const others = view.rows(tables).map((row) => row['id']);
  if (others.length > 0) throw badRequest(`Not table assets: ${others.join(', ')}`);
}

/** A dimension's score is the mean of the assets' scores, weighed by how many results stand behind each. */
function dimensionsSql(question: Question, conditions: readonly string[]): string {
  const scores = 'cross join asset_health_score_dimensions d on d.env_id = r.env_id and d.asset_id = r.id';
  return `select d.dimension, sum(d.score * d.test_count) / sum(d.test_count) as score, sum(d.test_count) as test_count,
      max(d.bucket_at) as bucket_at
    ${matchedTables(question, ['d.bucket_at >= @week', ...conditions], scores)}
    group by d.dimension having sum(d.test_count) > 0 order by d.dimension`;
}

function toDimension(row: Row): Card['dimensions'][number] {
  return {
    dimension: String(row['dimension']),
    score: Math.min(1, Number(row['score'])),
    test_count: Number(row['test_count']),
    bucket_at: String(row['bucket_at']),
  };
}

/** The mean of the dimensions by their weights. */
function totalOf(dimensions: Card['dimensions'], weights: DimensionWeights): Score {
  const weightOf = (dimension: string): number => weights.get(dimension) ?? 1;
  const sum = (of: (dimension: Card['dimensions'][number]) => number): number =>
    dimensions.reduce((total, dimension) => total + of(dimension), 0);
  const weight = sum(({ dimension }) => weightOf(dimension));
  const buckets = dimensions.map(({ bucket_at }) => bucket_at ?? '').sort();
  return dimensions.length === 0
    ? ZERO
    : {
        score: weight === 0 ? 0 : Math.min(1, sum(({ dimension, score }) => score * weightOf(dimension)) / weight),
        test_count: sum(({ test_count }) => test_count),
        bucket_at: buckets.at(-1) ?? null,
      };
}
