import { axesOf, type Chart, type ChartKind, labelOf, placeCharts } from './chart.ts';
import { POSTGRESQL, SQLITE } from './chart-dialect.ts';
import { CHART_SECTIONS, DASHBOARD } from './charts.ts';
import { type GeneratedFile, jsonFile, NOTE, textFile } from './generated-file.ts';

/** The script that puts the charts into a Metabase, and its input. */
export function metabaseFiles(script: string): GeneratedFile[] {
  return [
    textFile('metabase.mjs', script),
    jsonFile('metabase.json', {
      about: NOTE,
      collection: 'obsync',
      dashboard: { name: DASHBOARD.title, description: DASHBOARD.description },
      places: places(),
    }),
  ];
}

const HEIGHTS: Readonly<Record<ChartKind, number>> = { value: 3, line: 6, bar: 6, table: 7 };

/** A heading per section with its charts below, in a grid of 24 columns. */
function places(): object[] {
  const made: object[] = [];
  let row = 0;
  for (const { title, charts } of CHART_SECTIONS) {
    made.push({ heading: title, row, col: 0, size_x: 24, size_y: 1 });
    const placed = placeCharts(charts, { columns: 24, heights: HEIGHTS, firstRow: row + 1 });
    for (const { chart, ...place } of placed.places)
      made.push({
        question: questionOf(chart),
        row: place.row,
        col: place.column,
        size_x: place.width,
        size_y: place.height,
      });
    row = placed.nextRow;
  }
  return made;
}

const DISPLAYS: Readonly<Record<ChartKind, string>> = { value: 'scalar', line: 'line', bar: 'bar', table: 'table' };

function questionOf(chart: Chart): object {
  return {
    name: chart.title,
    description: chart.question,
    display: DISPLAYS[chart.kind],
    visualization_settings: { column_settings: columnSettings(chart), ...graphSettings(chart) },
    sql: { sqlite: chart.sql(SQLITE), postgres: chart.sql(POSTGRESQL) },
  };
}

function graphSettings(chart: Chart): object {
  if (chart.kind === 'value') return { 'scalar.field': chart.columns[0]?.name };
  if (chart.kind === 'table') return {};
  const { axis, series, values } = axesOf(chart);
  return {
    'graph.dimensions': [axis, ...(series === null ? [] : [series])].map(({ name }) => name),
    'graph.metrics': values.map(({ name }) => name),
    ...(chart.kind === 'bar' && series !== null ? { 'stackable.stack_type': 'stacked' } : {}),
  };
}

function columnSettings({ columns }: Chart): object {
  const settings = columns.map((column) => [
    JSON.stringify(['name', column.name]),
    {
      column_title: labelOf(column),
      ...(column.unit === 'fraction' ? { number_style: 'percent', decimals: 1 } : {}),
      ...(column.unit === 'hours' ? { suffix: ' h', decimals: 1 } : {}),
    },
  ]);
  return Object.fromEntries(settings);
}
