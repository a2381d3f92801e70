import type { Chart, TrendChart } from './charts.ts';
import { type AnswerColumn, answerColumnsOf, groupsOf } from './query.ts';
import { isStatus, STATUS_COLORS } from './status-colors.ts';

const DISPLAYS = { value: 'scalar', line: 'line', columns: 'bar', bar: 'row', table: 'table' } as const;

/** The kind of drawing. */
export const displayOf = ({ kind }: Chart): string => DISPLAYS[kind];

/** The settings of a question's drawing. */
export function settingsOf(chart: Chart): object {
  return { column_settings: columnSettings(chart), ...drawingSettings(chart) };
}

function drawingSettings(chart: Chart): object {
  const columns = answerColumnsOf(chart).map(({ name }) => name);
  const groups = groupsOf(chart);
  if (chart.kind === 'value')
    return { 'scalar.field': columns[0], ...(chart.isBad === true ? { 'scalar.segments': [ABOVE_ZERO] } : {}) };
  if (chart.kind === 'table') return { 'table.column_formatting': columns.flatMap(statusRules) };
  return {
    'graph.dimensions': groups,
    'graph.metrics': columns.slice(groups.length),
    ...(chart.kind === 'bar' ? { 'graph.show_values': true } : trendSettings(chart)),
  };
}

const ABOVE_ZERO = { min: 1, max: Number.MAX_SAFE_INTEGER, color: STATUS_COLORS.FAIL };

function statusRules(column: string): object[] {
  if (!isStatus(column)) return [];
  return Object.entries(STATUS_COLORS).map(([value, color]) => ({
    ...{ columns: [column], type: 'single', operator: '=', value, color },
    highlight_row: false,
  }));
}

/** Metabase names a series by its value or, without one, by its column. */
function trendSettings(chart: TrendChart): object {
  const colors = Object.entries(STATUS_COLORS).flatMap(([status, color]) => [
    [status, { color }],
    [status.toLowerCase(), { color, title: status }],
  ]);
  return {
    ...(chart.kind === 'line'
      ? { 'line.marker_enabled': true, 'graph.y_axis.unpin_from_zero': true }
      : { 'stackable.stack_type': 'stacked', series_settings: Object.fromEntries(colors) }),
  };
}

function columnSettings(chart: Chart): object {
  return Object.fromEntries(
    answerColumnsOf(chart).map((column) => [JSON.stringify(['name', column.name]), columnSetting(column)]),
  );
}

function columnSetting({ name, label, unit }: AnswerColumn): object {
  return {
    column_title: label,
    ...(unit === 'fraction' ? { number_style: 'percent', decimals: 1 } : {}),
    ...(unit === 'hours' ? { suffix: ' h', decimals: 1 } : {}),
    ...(name === 'url' ? { view_as: 'link', link_text: 'Open' } : {}),
  };
}
