import { capitalize } from '../core/capitalize.ts';
import type { Chart } from './charts.ts';
import { BI_METRICS } from './dataset.ts';
import { COLUMNS, type ColumnName, isStatus, STATUS_COLORS } from './dataset-columns.ts';
import { isDayOf, LIMITS } from './query.ts';

export const FORMATS = { count: ',d', fraction: '.1%', hours: ',.1f' } as const;

/** Today is the last of the days; Superset's own "Last 7 days" end yesterday. */
const rangeOf = ({ days }: Chart): string =>
  days === undefined ? 'No filter' : `DATEADD(DATETIME("today"), ${1 - days}, day) : now`;

/** What the chart asks for, as Superset's own pages ask. */
export function queryOf(chart: Chart): object {
  const { columns, key, metrics, time, where, order } = chart;
  return {
    columns: [...columns, ...key].map((name) => (isDayOf(chart, name) ? axisColumn(name) : name)),
    metrics,
    filters: time === null ? [] : [{ col: time, op: 'TEMPORAL_RANGE', val: rangeOf(chart) }],
    extras: { having: '', where: where === undefined ? '' : `(${where})` },
    orderby: order.map(({ name, isDescending }) => [name, !isDescending]),
    row_limit: limitOf(chart),
  };
}

/** Bars are rows of a table, which scrolls. */
const limitOf = ({ kind }: Chart): number => LIMITS[kind === 'bar' ? 'table' : kind];

function axisColumn(name: ColumnName): object {
  return { columnType: 'BASE_AXIS', expressionType: 'SQL', label: name, sqlExpression: name, timeGrain: GRAIN };
}

const GRAIN = 'P1D';

/** The type of a chart in Superset, its settings and its filters. */
export const formOf = (chart: Chart) => ({
  ...FORMS[chart.kind](chart),
  adhoc_filters: adhocFilters(chart),
});

const FORMS = { value: bigNumber, table, bar: bars, line: trend, columns: trend };

/** The filter of time on the dashboard replaces the range of the second one. */
function adhocFilters(chart: Chart): object[] {
  const where = { expressionType: 'SQL', clause: 'WHERE', sqlExpression: chart.where };
  const range = {
    expressionType: 'SIMPLE',
    clause: 'WHERE',
    subject: chart.time,
    operator: 'TEMPORAL_RANGE',
    comparator: rangeOf(chart),
  };
  return [...(chart.where === undefined ? [] : [where]), ...(chart.time === null ? [] : [range])];
}

function bigNumber(chart: Chart) {
  const { metrics, subtitle = '', isBad } = chart;
  const red = (column: string) => ({ operator: '>', targetValue: 0, column, colorScheme: STATUS_COLORS.FAIL });
  return {
    viz_type: 'big_number_total',
    metric: metrics[0],
    subtitle,
    header_font_size: 0.5,
    subtitle_font_size: 0.15,
    y_axis_format: FORMATS[unitOf(chart)],
    conditional_formatting: isBad && metrics.map((metric) => red(capitalize(metric))),
  };
}

/** The unit of a number, or of the axis of numbers. */
const unitOf = ({ metrics }: Chart) => metrics.map((metric) => BI_METRICS[metric].unit)[0] ?? 'count';

/** Few have many environments. */
export const isShortTable = ({ kind, dataset }: Chart): boolean => kind === 'table' && dataset === 'environments';

function table(chart: Chart) {
  const { columns, key } = chart;
  const isShort = isShortTable(chart);
  const colors = (column: ColumnName) =>
    Object.entries(STATUS_COLORS).map(([status, colorScheme]) => ({
      ...{ column, operator: 'begins with', targetValue: status, colorScheme },
    }));
  return {
    ...rowsOf(chart),
    include_search: !isShort,
    page_length: isShort ? 0 : 20,
    show_cell_bars: false,
    table_timestamp_format: '%Y-%m-%d %H:%M',
    column_config: {
      ...Object.fromEntries(columns.map((column) => [column, columnConfig(column)])),
      ...Object.fromEntries(key.map((column) => [column, { visible: false }])),
    },
    conditional_formatting: columns.filter(isStatus).flatMap(colors),
  };
}

/** The rows of a table, sorted by the first of its order. */
function rowsOf(chart: Chart) {
  const { columns, key, metrics, order } = chart;
  const [{ name, isDescending }] = order as readonly [Chart['order'][number]];
  const sqlExpression = `${isDescending ? 'max' : 'min'}(${name})`;
  const extreme = { expressionType: 'SQL', sqlExpression, label: 'order', hasCustomLabel: true };
  return {
    viz_type: 'table',
    query_mode: 'aggregate',
    groupby: [...columns, ...key],
    metrics,
    timeseries_limit_metric: metrics.some((metric) => metric === name) ? name : extreme,
    order_desc: isDescending,
    row_limit: limitOf(chart),
  };
}

/** In pixels: long texts are cut there and shown under the mouse, because they would leave no room for the rest. */
const WIDTHS: Readonly<Partial<Record<ColumnName, number>>> = {
  asset_name: 170,
  table_name: 170,
  test_name: 220,
  reason: 180,
  owners: 110,
  env_name: 130,
};

function columnConfig(name: ColumnName): object {
  const { type, unit } = COLUMNS[name];
  if (type === 'day') return { d3TimeFormat: '%Y-%m-%d' };
  const columnWidth = WIDTHS[name];
  return { d3NumberFormat: unit && FORMATS[unit], columnWidth, truncateLongCells: columnWidth && true };
}

/** A table whose numbers have bars. A click on Superset's own horizontal bars would filter by the number as a name. */
function bars(chart: Chart) {
  const names = chart.columns.map((name) => [name, { columnWidth: 150 }]);
  const numbers = chart.metrics.map((metric) => [metric, { d3NumberFormat: FORMATS[BI_METRICS[metric].unit] }]);
  return {
    ...rowsOf(chart),
    show_cell_bars: true,
    color_pn: false,
    column_config: Object.fromEntries([...names, ...numbers]),
  };
}

function trend(chart: Chart) {
  const { kind, metrics } = chart;
  const [axis, ...series] = chart.columns;
  const unit = unitOf(chart);
  return {
    viz_type: kind === 'line' ? 'echarts_timeseries_line' : 'echarts_timeseries_bar',
    x_axis: axis,
    time_grain_sqla: GRAIN,
    metrics,
    groupby: series,
    row_limit: LIMITS[kind],
    y_axis_format: FORMATS[unit],
    x_axis_time_format: '%d %b',
    ...(kind === 'line' ? { markerEnabled: true } : { stack: 'Stack' }),
    ...(unit === 'fraction' && { truncateYAxis: true, y_axis_bounds: [null, 1] }),
  };
}
