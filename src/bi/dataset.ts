import { expressionOf, METRICS, type MetricDefinition, type MetricName } from '../../schema/metrics.ts';
import { COLUMNS, type ColumnName } from './dataset-columns.ts';
import type { BiDialect } from './dialect.ts';

/** Rows of a view with what belongs to them: all charts, filters and metrics of a tool are made from datasets. */
export interface Dataset {
  readonly title: string;
  readonly description: string;
  /** The columns, in order, and the SQL of each. With `owner_count` or `tag_count`, rows are repeated for each. */
  readonly select: Readonly<Partial<Record<ColumnName, string | ((dialect: BiDialect) => string)>>>;
  /** What follows `from`. */
  readonly from: (dialect: BiDialect) => string;
  /** The column that a filter of time applies to; missing if the rows are of now. */
  readonly time?: ColumnName;
  /** The view whose metrics it has; missing if it is named like the dataset. */
  readonly view?: string;
}

/** `view` is that of a metric of the dictionary. */
type BiMetric = Omit<MetricDefinition, 'view' | 'time' | 'expression'> & Partial<Pick<MetricDefinition, 'view'>>;

const metric = (
  aggregate: BiMetric['aggregate'],
  of: string,
  description: string,
  unit: BiMetric['unit'] = 'count',
): BiMetric => ({ aggregate, of, unit, description });

const DOWNSTREAM = "env_id || '/' || downstream_asset_id";

/** What only dashboards count. The rest is in `METRICS`. */
const OTHER_METRICS = {
  WARN: metric('sum', 'warn_count', 'runs that warned'),
  FAIL: metric('sum', 'fail_count', 'runs that failed'),
  ERROR: metric('sum', 'error_count', 'runs that ended with an error'),
  tables: metric('count', 'asset_id', 'how many tables there are'),
  'assets downstream': metric('count_distinct', DOWNSTREAM, 'how many assets depend on a failing one'),
  'dashboards downstream': metric(
    'count_distinct',
    `case when downstream_kind = 'bi' then ${DOWNSTREAM} end`,
    'how many dashboards and other BI assets depend on a failing asset',
  ),
  /** A dataset also says whether the environment is still listed. */
  'open incidents': { ...METRICS['open incidents'], of: 'case when is_open then first_start_time end' },
  'mean score': metric('average', 'score', 'the mean of the scores, from 0 to 1', 'fraction'),
  'hours since sync': metric('max', 'hours_since_sync', 'the age of the environment that is furthest behind', 'hours'),
  'rejected rows': metric('count', 'row_key', 'how many objects of the service could not be mirrored'),
};

export type BiMetricName = MetricName | keyof typeof OTHER_METRICS;

export const BI_METRICS: Readonly<Record<BiMetricName, BiMetric>> = { ...METRICS, ...OTHER_METRICS };

/** A metric as a query or a semantic model names it: `failing_tests`. */
export const aliasOf = (metric: string): string => metric.toLowerCase().replaceAll(' ', '_');

/** The rows of a dataset. */
export function datasetSql({ select, from }: Dataset, dialect: BiDialect): string {
  const columns = Object.entries(select).map(([name, sql]) => {
    const value = typeof sql === 'string' ? sql : sql(dialect);
    const { type } = COLUMNS[name as ColumnName];
    const shown = type === 'time' || type === 'day' ? dialect[type](value) : value;
    return shown.endsWith(`.${name}`) ? shown : `${shown} as ${name}`;
  });
  return `select ${columns.join(',\n  ')}\nfrom ${from(dialect)}`;
}

/**
 * The SQL of a metric over a dataset, whatever it is filtered and grouped by. A row with two owners is there twice: it
 * counts once in all, and once for each owner. So does a row with two tags.
 */
export function metricSql(name: BiMetricName, { select }: Dataset): string {
  const repeated = ['owner', 'tag'].filter((each) => `${each}_count` in select);
  const { aggregate, of, per } = BI_METRICS[name];
  if (repeated.length === 0 || aggregate === 'count_distinct') return expressionOf(BI_METRICS[name]);
  if (aggregate === 'count') return `count(distinct case when (${of}) is not null then row_key end)`;
  const sum = (value: string): string => sumOnce(value, repeated);
  if (per !== undefined) return `${sum(of)} / nullif(${sum(per)}, 0)`;
  return aggregate === 'sum'
    ? `cast(round(${sum(of)}) as bigint)`
    : `${sum(of)} / nullif(${sum(`case when (${of}) is not null then 1.0 end`)}, 0)`;
}

/** Rows of one owner, or of one tag, count whole; among rows of several, each has its share. */
function sumOnce(value: string, [repeated, ...rest]: readonly string[]): string {
  if (repeated === undefined) return `sum(${value})`;
  const shared = sumOnce(`(${value}) * 1.0 / ${repeated}_count`, rest);
  return `(case when min(${repeated}) <> max(${repeated}) then ${shared} else ${sumOnce(value, rest)} end)`;
}
