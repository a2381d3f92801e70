import { CHARTS, type Chart } from './charts.ts';
import { COLUMNS, isStatus, STATUS_COLORS } from './dataset-columns.ts';
import { type BiDialect, postgresqlIn, SQLITE } from './dialect.ts';
import { type GeneratedFile, jsonFile, NOTE, textFile } from './generated-file.ts';
import { type ChartHeights, DASHBOARD, type GridItem, gridOf, TABS } from './layout.ts';
import {
  type AnswerColumn,
  answerColumnsOf,
  chartSql,
  choicesSql,
  type DashboardFilter,
  FILTERS,
  filterOf,
  filtersOf,
} from './query.ts';
import type { ToolPlaces } from './tool-places.ts';

/** The script that puts the charts into a Metabase, and its input. */
export function metabaseFiles({ mirror, pageUrl, shipped }: ToolPlaces): GeneratedFile[] {
  const schema = mirror.kind === 'file' ? 'obsync' : mirror.schema;
  const dialects = { sqlite: { ...SQLITE, pageUrl }, postgres: { ...postgresqlIn(schema), pageUrl } };
  return [
    textFile('metabase.mjs', shipped('metabase.mjs')),
    jsonFile('metabase.json', {
      about: NOTE,
      collection: 'obsync',
      dashboard: { name: DASHBOARD.title, description: DASHBOARD.description },
      parameters: PARAMETERS.map(({ type, ...each }) => ({
        ...{ id: each.name, name: each.label, slug: each.name, type },
        choices: 'dataset' in each ? choicesOf(each, dialects) : undefined,
      })),
      tabs: TABS.map(({ title, sections }) => ({
        name: title,
        places: gridOf(sections, HEIGHTS).map((item) => placeOf(item, dialects)),
      })),
    }),
  ];
}

/** What the reader chooses, in the dashboard and in each question that has a tag of this name. */
const PARAMETERS = [
  ...FILTERS.map((filter) => ({ ...filter, type: 'string/=' })),
  { name: 'from', label: 'From', type: 'date/single' },
  { name: 'to', label: 'To', type: 'date/single' },
];

/** Where a parameter takes its choices from: a question that isn't on the dashboard. */
function choicesOf(filter: DashboardFilter, dialects: BothDialects): object {
  const question = {
    name: `Choices: ${filter.label}`,
    description: `The choices of the filter ${filter.label} on the dashboard.`,
    display: 'table',
    visualization_settings: {},
    template_tags: {},
    sql: inEach(dialects, (dialect) => choicesSql(filter, dialect)),
  };
  return { column: filter.column, question };
}

type BothDialects = Readonly<Record<'sqlite' | 'postgres', BiDialect>>;

const inEach = ({ sqlite, postgres }: BothDialects, write: (dialect: BiDialect) => string) => ({
  sqlite: write(sqlite),
  postgres: write(postgres),
});

const HEIGHTS: ChartHeights = { value: 3, bar: 9, line: 6, columns: 6, table: 8 };

function placeOf(item: GridItem, dialects: BothDialects): object {
  const place = { row: item.y, col: item.x, size_x: item.w, size_y: item.h };
  if ('heading' in item) return { ...place, card_id: null, visualization_settings: headingOf(item.heading) };
  const chart = CHARTS[item.chart];
  const filter = filterOf(chart);
  return {
    ...place,
    question: questionOf(chart, dialects),
    visualization_settings: { click_behavior: filter && filteringBy(filter) },
  };
}

function headingOf(text: string): object {
  const virtual_card = {
    name: null,
    display: 'heading',
    visualization_settings: {},
    dataset_query: {},
    archived: false,
  };
  return { virtual_card, text };
}

/** A click on a bar sets the parameter. */
function filteringBy({ name: id, column }: DashboardFilter): object {
  const source = { type: 'column', id: column, name: column };
  return { type: 'crossfilter', parameterMapping: { [id]: { id, source, target: { type: 'parameter', id } } } };
}

function questionOf(chart: Chart, dialects: BothDialects): object {
  const subtitle = chart.kind === 'value' && chart.subtitle !== undefined ? ` (${chart.subtitle})` : '';
  return {
    name: chart.title,
    description: `${chart.question}${subtitle}`,
    display: DISPLAYS[chart.kind],
    visualization_settings: settingsOf(chart),
    template_tags: tagsOf(chart),
    sql: inEach(dialects, (dialect) => chartSql(chart, dialect, [conditionOf(chart, dialect)])),
  };
}

function tagsOf(chart: Chart): object {
  const names = [...filtersOf(chart).map(({ name }) => name), ...(chart.time === null ? [] : ['from', 'to'])];
  const tags = PARAMETERS.filter(({ name }) => names.includes(name)).map(({ name, label, type }) => [
    name,
    { id: `obsync-${name}`, name, 'display-name': label, type: type === 'date/single' ? 'date' : 'text' },
  ]);
  return Object.fromEntries(tags);
}

/** Metabase leaves out what is in brackets unless the reader chooses a value. */
function conditionOf(chart: Chart, { dayOf, daysAgo }: BiDialect): string {
  const chosen = filtersOf(chart).map(({ name, column }) => `[[and ${column} = {{${name}}}]]`);
  const { time: column } = chart;
  if (column === null) return ['1 = 1', ...chosen].join(' ');
  const day = COLUMNS[column].type === 'day' ? column : dayOf(column);
  const from =
    chart.days === undefined
      ? `[[and ${day} >= {{from}}]]`
      : `and ${day} >= coalesce(null, [[{{from}}, ]]${daysAgo(chart.days - 1)})`;
  return ['1 = 1', ...chosen, from, `[[and ${day} <= {{to}}]]`].join(' ');
}

const DISPLAYS = { value: 'scalar', line: 'line', columns: 'bar', bar: 'row', table: 'table' } as const;

/** The settings of a question's drawing. */
function settingsOf(chart: Chart): object {
  const columns = answerColumnsOf(chart);
  const settings = columns.map((column) => [JSON.stringify(['name', column.name]), columnSetting(column)]);
  const names = columns.map(({ name }) => name);
  return { column_settings: Object.fromEntries(settings), ...drawingSettings(chart, names) };
}

function drawingSettings(chart: Chart, columns: readonly string[]): object {
  if (chart.kind === 'value') return { 'scalar.field': columns[0], 'scalar.segments': chart.isBad && [ABOVE_ZERO] };
  if (chart.kind === 'table') return { 'table.column_formatting': columns.filter(isStatus).flatMap(statusRules) };
  return {
    'graph.dimensions': chart.columns,
    'graph.metrics': columns.slice(chart.columns.length),
    ...DRAWING_SETTINGS[chart.kind],
  };
}

const ABOVE_ZERO = { min: 1, max: Number.MAX_SAFE_INTEGER, color: STATUS_COLORS.FAIL };

function statusRules(column: string): object[] {
  return Object.entries(STATUS_COLORS).map(([value, color]) => ({
    ...{ columns: [column], type: 'single', operator: '=', value, color },
    highlight_row: false,
  }));
}

/** Metabase names a series by its value or, without one, by its column. */
const STATUS_SERIES = Object.entries(STATUS_COLORS).flatMap(([status, color]) => [
  [status, { color }],
  [status.toLowerCase(), { color, title: status }],
]);

const DRAWING_SETTINGS = {
  bar: { 'graph.show_values': true },
  line: { 'line.marker_enabled': true, 'graph.y_axis.unpin_from_zero': true },
  columns: { 'stackable.stack_type': 'stacked', series_settings: Object.fromEntries(STATUS_SERIES) },
};

function columnSetting({ name, label, unit }: AnswerColumn): object {
  return {
    column_title: label,
    ...(unit === 'fraction' && { number_style: 'percent', decimals: 1 }),
    ...(unit === 'hours' && { suffix: ' h', decimals: 1 }),
    ...(name === 'url' && { view_as: 'link', link_text: 'Open' }),
  };
}
