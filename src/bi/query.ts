import { capitalize } from '../core/capitalize.ts';
import type { Chart } from './charts.ts';
import { aliasOf, BI_METRICS, datasetSql, metricSql } from './dataset.ts';
import { COLUMNS, type ColumnName, type DatasetColumn } from './dataset-columns.ts';
import { DATASETS } from './datasets.ts';
import type { BiDialect } from './dialect.ts';

/** A column of a chart's answer. */
export interface AnswerColumn extends Pick<DatasetColumn, 'label' | 'type' | 'unit'> {
  /** As the query names it. */
  readonly name: string;
}

/** How many rows a chart of a kind shows at most. */
export const LIMITS = { value: 10_000, line: 10_000, columns: 10_000, bar: 20, table: 1000 } as const;

/** The columns of a chart's answer, in the query's order. */
export function answerColumnsOf(chart: Chart): AnswerColumn[] {
  const columns = chart.columns.map((name) => ({
    ...COLUMNS[name],
    name,
    ...(isDayOf(chart, name) ? { type: 'day' as const } : {}),
  }));
  const metrics = chart.metrics.map((metric) => {
    const { unit } = BI_METRICS[metric];
    const shown = unit === 'count' ? ({ type: 'integer' } as const) : ({ type: 'real', unit } as const);
    return { name: aliasOf(metric), label: capitalize(metric), ...shown };
  });
  return [...columns, ...metrics];
}

/** Trends have a row per day. */
export const isDayOf = ({ kind, columns }: Chart, column: ColumnName): boolean =>
  (kind === 'line' || kind === 'columns') && column === columns[0];

/** The query of a chart, for tools that only take SQL. `filters` are further conditions on the dataset's columns. */
export function chartSql(chart: Chart, dialect: BiDialect, filters: readonly string[]): string {
  const dataset = DATASETS[chart.dataset];
  const groups = chart.columns.map((name) => {
    const isInstant = COLUMNS[name].type === 'time' && isDayOf(chart, name);
    return isInstant ? `${dialect.day(dialect.dayOf(`d.${name}`))} as ${name}` : `d.${name}`;
  });
  const metrics = chart.metrics.map((name) => `${metricSql(name, dataset)} as ${aliasOf(name)}`);
  const conditions = [...(chart.where === undefined ? [] : [chart.where]), ...filters];
  const order = chart.order.map(
    ({ name, isDescending }) => `${aliasOf(name)}${isDescending ? ' desc' : ''} nulls last`,
  );
  return [
    `select ${[...groups, ...metrics].join(', ')}`,
    `from (\n${datasetSql(dataset, dialect)}\n) d`,
    ...(conditions.length === 0 ? [] : [`where ${conditions.join('\n  and ')}`]),
    ...(groups.length === 0 ? [] : [`group by ${[...groups.map((_, i) => i + 1), ...chart.key].join(', ')}`]),
    ...(order.length === 0 ? [] : [`order by ${order.join(', ')}`]),
    ...(groups.length === 0 ? [] : [`limit ${LIMITS[chart.kind]}`]),
  ].join('\n');
}

/**
 * What a reader can filter a dashboard by, besides the time. A filter applies to each chart whose dataset has the
 * column; its choices come from `dataset`.
 */
export const FILTERS = [
  { name: 'environment', label: 'Environment', column: 'env_name', dataset: 'environments', isMultiple: true },
  // With two owners or tags chosen, what they share with others would count in part only.
  { name: 'owner', label: 'Owner', column: 'owner', dataset: 'owners', isMultiple: false },
  { name: 'tag', label: 'Tag', column: 'tag', dataset: 'tags', isMultiple: false },
  { name: 'schema', label: 'Schema', column: 'schema_name', dataset: 'schemas', isMultiple: true },
] as const;

export type DashboardFilter = (typeof FILTERS)[number];

/** The filter that a click on a bar sets. */
export const filterOf = ({ kind, columns }: Chart): DashboardFilter | undefined =>
  kind === 'bar' ? FILTERS.find(({ column }) => column === columns[0]) : undefined;

export const filtersOf = ({ dataset }: Chart): readonly DashboardFilter[] =>
  FILTERS.filter(({ column }) => column in DATASETS[dataset].select);

export const choicesSql = ({ column, dataset }: DashboardFilter, dialect: BiDialect): string =>
  `select distinct ${column}\nfrom (\n${datasetSql(DATASETS[dataset], dialect)}\n) d\norder by 1`;
