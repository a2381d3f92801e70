import type { Chart } from './charts.ts';
import { type BiMetricName, type Dataset, datasetSql, metricLabel, metricOf, metricSql } from './dataset.ts';
import { COLUMNS, type ColumnName, type DatasetColumn } from './dataset-columns.ts';
import { DATASETS } from './datasets.ts';
import type { BiDialect } from './dialect.ts';

/** A column of a chart's answer. */
export interface AnswerColumn extends Pick<DatasetColumn, 'label' | 'type' | 'unit'> {
  /** As the query names it. */
  readonly name: string;
}

export const datasetOf = ({ dataset }: Chart): Dataset => DATASETS[dataset];

/** The columns by which a chart groups its rows: all of a list. */
export function groupsOf(chart: Chart): readonly ColumnName[] {
  if (chart.kind === 'value') return [];
  if (chart.kind === 'table') return chart.columns;
  return chart.kind === 'bar' || chart.series === undefined ? [chart.axis] : [chart.axis, chart.series];
}

/** What tells rows of a list apart that look the same. */
export const keyOf = (chart: Chart): readonly ColumnName[] =>
  chart.kind === 'table' && chart.key !== undefined ? [chart.key] : [];

export function metricsOf(chart: Chart): readonly BiMetricName[] {
  return chart.kind === 'value' || chart.kind === 'bar' ? [chart.metric] : (chart.metrics ?? []);
}

/** The column that a filter of time applies to. */
export const timeOf = (chart: Chart): ColumnName | null => chart.time ?? datasetOf(chart).time;

/** Which way a list or its bars are sorted, and by what. */
export function orderOf(chart: Chart): readonly { readonly name: string; readonly isDescending: boolean }[] {
  if (chart.kind === 'value') return [];
  if (chart.kind === 'bar') return [descending(chart.metric), ascending(chart.axis)];
  if (chart.kind !== 'table') return groupsOf(chart).map(ascending);
  return chart.order.map((key) => (key.startsWith('-') ? descending(key.slice(1)) : ascending(key)));
}

const ascending = (name: string) => ({ name, isDescending: false });
const descending = (name: string) => ({ name, isDescending: true });

/** How many rows a chart shows at most. */
export const limitOf = ({ kind }: Chart): number => (kind === 'bar' ? 20 : kind === 'table' ? 1000 : 10_000);

/** As a query names it, without quotes: `failing_tests`. */
const aliasOf = (name: string): string => name.toLowerCase().replaceAll(' ', '_');

const COUNTED = { count: {}, fraction: { unit: 'fraction' }, hours: { unit: 'hours' } } as const;

/** The columns of a chart's answer, in the query's order. */
export function answerColumnsOf(chart: Chart): AnswerColumn[] {
  return [
    ...groupsOf(chart).map((name) => ({
      ...COLUMNS[name],
      name,
      ...(isDayOf(chart, name) ? { type: 'day' as const } : {}),
    })),
    ...metricsOf(chart).map((metric) => {
      const { unit } = metricOf(metric);
      return {
        name: aliasOf(metric),
        label: metricLabel(metric),
        type: unit === 'count' ? 'integer' : 'real',
        ...COUNTED[unit],
      } as const;
    }),
  ];
}

/** Trends have a row per day. */
const isDayOf = (chart: Chart, column: ColumnName): boolean =>
  (chart.kind === 'line' || chart.kind === 'columns') && column === chart.axis;

/** The query of a chart, for tools that only take SQL. `filters` are further conditions on the dataset's columns. */
export function chartSql(chart: Chart, dialect: BiDialect, filters: readonly string[]): string {
  const dataset = datasetOf(chart);
  const groups = groupsOf(chart).map((name) => {
    const isInstant = COLUMNS[name].type === 'time' && isDayOf(chart, name);
    return isInstant ? `${dialect.day(dialect.dayOf(`d.${name}`))} as ${name}` : `d.${name}`;
  });
  const metrics = metricsOf(chart).map((name) => `${metricSql(name, dataset)} as ${aliasOf(name)}`);
  const conditions = [...(chart.where === undefined ? [] : [chart.where]), ...filters];
  const order = orderOf(chart).map(
    ({ name, isDescending }) => `${aliasOf(name)}${isDescending ? ' desc' : ''} nulls last`,
  );
  return [
    `select ${[...groups, ...metrics].join(', ')}`,
    `from (\n${datasetSql(dataset, dialect)}\n) d`,
    ...(conditions.length === 0 ? [] : [`where ${conditions.join('\n  and ')}`]),
    ...(groups.length === 0 ? [] : [`group by ${[...groups.map((_, i) => i + 1), ...keyOf(chart)].join(', ')}`]),
    ...(order.length === 0 ? [] : [`order by ${order.join(', ')}`]),
    ...(groups.length === 0 ? [] : [`limit ${limitOf(chart)}`]),
  ].join('\n');
}
