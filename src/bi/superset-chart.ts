import type { BarChart, Chart, TableChart, TrendChart, ValueChart } from './charts.ts';
import { metricLabel, metricOf } from './dataset.ts';
import { COLUMNS, type ColumnName } from './dataset-columns.ts';
import { groupsOf, keyOf, limitOf, metricsOf, orderOf, timeOf } from './query.ts';
import { isStatus, STATUS_COLORS } from './status-colors.ts';

export const FORMATS = { count: ',d', fraction: '.1%', hours: ',.1f' } as const;

const NO_TIME = 'No filter';

/** Today is the last of the days; Superset's own "Last 7 days" end yesterday. */
const rangeOf = ({ days }: Chart): string =>
  days === undefined ? NO_TIME : `DATEADD(DATETIME("today"), ${1 - days}, day) : now`;

/** The filter of time on the dashboard replaces the range of the second one. */
export function adhocFilters(chart: Chart): object[] {
  const time = timeOf(chart);
  const where = { expressionType: 'SQL', clause: 'WHERE', sqlExpression: chart.where };
  const range = {
    expressionType: 'SIMPLE',
    clause: 'WHERE',
    subject: time,
    operator: 'TEMPORAL_RANGE',
    comparator: rangeOf(chart),
  };
  return [...(chart.where === undefined ? [] : [where]), ...(time === null ? [] : [range])];
}

/** What the chart asks for, as Superset's own pages ask. */
export function queryOf(chart: Chart): object {
  const time = timeOf(chart);
  return {
    columns: [...groupsOf(chart), ...keyOf(chart)].map((name) => (isAxis(chart, name) ? axisColumn(name) : name)),
    metrics: metricsOf(chart),
    filters: time === null ? [] : [{ col: time, op: 'TEMPORAL_RANGE', val: rangeOf(chart) }],
    extras: { having: '', where: chart.where === undefined ? '' : `(${chart.where})` },
    orderby: orderOf(chart).map(({ name, isDescending }) => [name, !isDescending]),
    row_limit: limitOf(chart),
  };
}

const isAxis = (chart: Chart, name: ColumnName): boolean =>
  chart.kind !== 'bar' && 'axis' in chart && chart.axis === name;

function axisColumn(name: ColumnName): object {
  return { columnType: 'BASE_AXIS', expressionType: 'SQL', label: name, sqlExpression: name, timeGrain: GRAIN };
}

const GRAIN = 'P1D';

/** The type of a chart in Superset, and its settings without the filters. */
export function drawing(chart: Chart): { readonly type: string; readonly params: object } {
  if (chart.kind === 'value') return { type: 'big_number_total', params: bigNumber(chart) };
  if (chart.kind === 'table') return { type: 'table', params: table(chart) };
  if (chart.kind === 'bar') return { type: 'table', params: bars(chart) };
  return { type: chart.kind === 'line' ? 'echarts_timeseries_line' : 'echarts_timeseries_bar', params: trend(chart) };
}

function bigNumber({ metric, subtitle = '', isBad }: ValueChart): object {
  const aboveZero = { operator: '>', targetValue: 0, column: metricLabel(metric), colorScheme: STATUS_COLORS.FAIL };
  return {
    metric,
    subtitle,
    header_font_size: 0.5,
    subtitle_font_size: 0.15,
    y_axis_format: FORMATS[metricOf(metric).unit],
    ...(isBad === undefined ? {} : { conditional_formatting: [aboveZero] }),
  };
}

/** Few have many environments. */
export const isShortTable = ({ kind, dataset }: Chart): boolean => kind === 'table' && dataset === 'environments';

/** Without metrics of its own, a list is sorted by its first column of order. */
function table(chart: TableChart): object {
  const { columns, metrics = [] } = chart;
  const key = keyOf(chart);
  const [first] = orderOf(chart);
  const { name, isDescending } = first as NonNullable<typeof first>;
  const isShort = isShortTable(chart);
  const isMetric = metrics.some((metric) => metric === name);
  return {
    query_mode: 'aggregate',
    groupby: [...columns, ...key],
    metrics,
    timeseries_limit_metric: isMetric
      ? name
      : {
          expressionType: 'SQL',
          sqlExpression: `${isDescending ? 'max' : 'min'}(${name})`,
          label: 'order',
          hasCustomLabel: true,
        },
    order_desc: isDescending,
    row_limit: limitOf(chart),
    include_search: !isShort,
    page_length: isShort ? 0 : 20,
    show_cell_bars: false,
    table_timestamp_format: '%Y-%m-%d %H:%M',
    column_config: {
      ...Object.fromEntries(columns.map((column) => [column, columnConfig(column)])),
      ...Object.fromEntries(key.map((column) => [column, { visible: false }])),
    },
    conditional_formatting: columns.filter(isStatus).flatMap(statusColors),
  };
}

const statusColors = (column: ColumnName): object[] =>
  Object.entries(STATUS_COLORS).map(([status, colorScheme]) => ({
    ...{ column, operator: 'begins with', targetValue: status, colorScheme },
  }));

/** In pixels: the texts that would leave no room for the rest. */
const WIDTHS: Readonly<Partial<Record<ColumnName, number>>> = {
  asset_name: 150,
  test_name: 220,
  reason: 200,
  owners: 120,
};

function columnConfig(name: ColumnName): object {
  const { type, unit } = COLUMNS[name];
  if (type === 'day') return { d3TimeFormat: '%Y-%m-%d' };
  const width = WIDTHS[name];
  return {
    ...(unit === undefined ? {} : { d3NumberFormat: FORMATS[unit] }),
    ...(width === undefined ? {} : { columnWidth: width }),
  };
}

/**
 * A table whose numbers have bars: of Superset's own horizontal bars, a click takes the number for the name, and so
 * filters everything away.
 */
function bars(chart: BarChart): object {
  const { axis, metric } = chart;
  return {
    query_mode: 'aggregate',
    groupby: [axis],
    metrics: [metric],
    timeseries_limit_metric: metric,
    order_desc: true,
    row_limit: limitOf(chart),
    show_cell_bars: true,
    color_pn: false,
    column_config: { [axis]: { columnWidth: 150 }, [metric]: { d3NumberFormat: FORMATS[metricOf(metric).unit] } },
  };
}

function trend(chart: TrendChart): object {
  const { kind, axis, metrics, series } = chart;
  const units = metrics.map((metric) => metricOf(metric).unit);
  return {
    x_axis: axis,
    time_grain_sqla: GRAIN,
    metrics,
    groupby: series === undefined ? [] : [series],
    row_limit: limitOf(chart),
    y_axis_format: FORMATS[units[0] ?? 'count'],
    x_axis_time_format: '%d %b',
    ...(kind === 'line' ? { markerEnabled: true } : { stack: 'Stack' }),
    ...(units[0] === 'fraction' ? { truncateYAxis: true, y_axis_bounds: [null, 1] } : {}),
  };
}
