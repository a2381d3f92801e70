import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { strToU8, type Zippable, zipSync } from 'fflate';
import { axesOf, type Chart, type ChartColumn, type ChartKind, isTime, labelOf, placeCharts } from './chart.ts';
import { type ChartDialect, POSTGRESQL, SQLITE } from './chart-dialect.ts';
import { CHART_SECTIONS, CHARTS, DASHBOARD } from './charts.ts';
import { type GeneratedFile, NOTE, yamlText } from './generated-file.ts';

const VERSION = '1.0.0';

/** One import per kind of database: the dashboard with its charts, data sets and database. */
export function supersetFiles({ db }: { db: string }): GeneratedFile[] {
  const sqlite = `sqlite:///file:${pathToFileURL(db).pathname}?mode=ro&uri=true`;
  return [
    { path: 'obsync-sqlite.zip', bytes: archive(SQLITE, sqlite) },
    { path: 'obsync-postgresql.zip', bytes: archive(POSTGRESQL, 'postgresql://obsync@localhost/obsync') },
  ];
}

/** The same input produces the same bytes: the archive's timestamps are fixed. */
function archive(dialect: ChartDialect, uri: string): Uint8Array {
  const files: Record<string, object> = {
    'metadata.yaml': { version: VERSION, type: 'Dashboard' },
    'databases/obsync.yaml': database(dialect, uri),
    'dashboards/obsync.yaml': dashboard(dialect),
  };
  for (const chart of CHARTS) {
    files[`datasets/obsync/${chart.id}.yaml`] = dataset(chart, dialect);
    files[`charts/${chart.id}.yaml`] = supersetChart(chart, dialect);
  }
  // The archive is compressed but its comments are not, so the mark is found in a comment.
  const options = { mtime: '1980-01-01T00:00:00', comment: NOTE };
  const entries = Object.entries(files).map(([path, value]) => [`obsync/${path}`, [strToU8(yamlText(value)), options]]);
  return zipSync(Object.fromEntries(entries) as Zippable);
}

/** A version 5 UUID of the name, by which a later import finds the object again. */
function uuidOf(dialect: ChartDialect, name: string): string {
  const hash = createHash('sha1').update(`obsync/${dialect.name}/${name}`).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function database(dialect: ChartDialect, uri: string): object {
  return {
    database_name: `obsync (${dialect.name})`,
    sqlalchemy_uri: uri,
    expose_in_sqllab: true,
    allow_dml: false,
    // The import requires these two, although its schema says that they are optional.
    allow_csv_upload: false,
    extra: {},
    uuid: uuidOf(dialect, 'database'),
    version: VERSION,
  };
}

function dataset(chart: Chart, dialect: ChartDialect): object {
  return {
    table_name: `obsync ${chart.id}`,
    description: chart.question,
    sql: chart.sql(dialect),
    main_dttm_col: chart.columns.find(isTime)?.name ?? null,
    uuid: uuidOf(dialect, `dataset/${chart.id}`),
    database_uuid: uuidOf(dialect, 'database'),
    columns: chart.columns.map((column) => datasetColumn(column, dialect)),
    metrics: [],
    version: VERSION,
  };
}

const TYPES: Readonly<Record<ChartDialect['name'], Readonly<Record<ChartColumn['type'], string>>>> = {
  sqlite: { text: 'TEXT', integer: 'INTEGER', real: 'REAL', timestamp: 'TEXT', date: 'TEXT' },
  postgresql: {
    text: 'TEXT',
    integer: 'BIGINT',
    real: 'DOUBLE PRECISION',
    timestamp: 'TIMESTAMP WITH TIME ZONE',
    date: 'DATE',
  },
};

/** How the mirror formats times and days. */
const TEXT_FORMATS = { timestamp: '%Y-%m-%dT%H:%M:%S.%fZ', date: '%Y-%m-%d' } as const;

function datasetColumn(column: ChartColumn, dialect: ChartDialect): object {
  const { name, type } = column;
  const isText = dialect.name === 'sqlite' && (type === 'timestamp' || type === 'date');
  return {
    column_name: name,
    verbose_name: labelOf(column),
    type: TYPES[dialect.name][type],
    is_dttm: isTime(column),
    groupby: true,
    filterable: true,
    ...(isText ? { python_date_format: TEXT_FORMATS[type] } : {}),
  };
}

function supersetChart(chart: Chart, dialect: ChartDialect): object {
  const { type, params } = drawing(chart);
  return {
    slice_name: chart.title,
    description: chart.question,
    viz_type: type,
    params: { viz_type: type, ...params },
    uuid: uuidOf(dialect, `chart/${chart.id}`),
    dataset_uuid: uuidOf(dialect, `dataset/${chart.id}`),
    version: VERSION,
  };
}

const FORMATS = { fraction: '.1%', hours: '.1f' } as const;

function drawing(chart: Chart): { type: string; params: object } {
  if (chart.kind === 'table')
    return {
      type: 'table',
      params: { query_mode: 'raw', all_columns: chart.columns.map(({ name }) => name), row_limit: 1000 },
    };
  const { values, axis, series } = axesOf(chart);
  const [value = axis] = values;
  const format = value.unit === undefined ? 'SMART_NUMBER' : FORMATS[value.unit];
  if (chart.kind === 'value')
    return { type: 'big_number_total', params: { metric: measure(value), y_axis_format: format } };
  const grouped = {
    x_axis: axis.name,
    metrics: values.map(measure),
    groupby: series === null ? [] : [series.name],
    row_limit: 10_000,
    y_axis_format: format,
  };
  if (chart.kind === 'line') return { type: 'echarts_timeseries_line', params: grouped };
  return { type: 'echarts_timeseries_bar', params: { ...grouped, ...(series === null ? {} : { stack: 'Stack' }) } };
}

/** The query already aggregates: there is one row per point. */
function measure(column: ChartColumn): object {
  const { name, type } = column;
  return {
    expressionType: 'SIMPLE',
    aggregate: 'MAX',
    column: { column_name: name, type: TYPES.postgresql[type] },
    label: labelOf(column),
    hasCustomLabel: true,
  };
}

const HEIGHTS: Readonly<Record<ChartKind, number>> = { value: 20, line: 50, bar: 50, table: 60 };

function dashboard(dialect: ChartDialect): object {
  return {
    dashboard_title: DASHBOARD.title,
    description: DASHBOARD.description,
    slug: null,
    uuid: uuidOf(dialect, 'dashboard'),
    position: position(dialect),
    metadata: { refresh_frequency: 300 },
    version: VERSION,
  };
}

interface PositionNode {
  readonly type: string;
  readonly id: string;
  readonly children: string[];
  readonly parents: readonly string[];
  readonly meta?: object;
}

/** The layout tree: a grid with a header and rows for each section, and charts in the rows. */
function position(dialect: ChartDialect): object {
  const nodes: Record<string, PositionNode> = {};
  const add = (node: PositionNode): PositionNode => {
    nodes[node.id] = node;
    nodes[node.parents.at(-1) ?? '']?.children.push(node.id);
    return node;
  };
  add({ type: 'ROOT', id: 'ROOT_ID', children: [], parents: [] });
  const grid = add({ type: 'GRID', id: 'GRID_ID', children: [], parents: ['ROOT_ID'] });
  const within = [...grid.parents, grid.id];
  CHART_SECTIONS.forEach(({ title, charts }, number) => {
    add({ type: 'HEADER', id: `HEADER-${number}`, children: [], parents: within, meta: { text: title } });
    const { places } = placeCharts(charts, { columns: 12, heights: HEIGHTS, firstRow: 0 });
    for (const [line, placed] of Map.groupBy(places, ({ row }) => row)) {
      const meta = { background: 'BACKGROUND_TRANSPARENT' };
      const row = add({ type: 'ROW', id: `ROW-${number}-${line}`, children: [], parents: within, meta });
      for (const { chart, width, height } of placed)
        add({
          type: 'CHART',
          id: `CHART-${chart.id}`,
          children: [],
          parents: [...within, row.id],
          meta: { ...chartMeta(chart, dialect), width, height },
        });
    }
  });
  const header = { type: 'HEADER', id: 'HEADER_ID', meta: { text: DASHBOARD.title } };
  return { DASHBOARD_VERSION_KEY: 'v2', ...nodes, HEADER_ID: header };
}

function chartMeta(chart: Chart, dialect: ChartDialect): object {
  // The id links to the chart within the file only: the import replaces it with its own, found by the UUID.
  const chartId = CHARTS.indexOf(chart) + 1;
  return { chartId, uuid: uuidOf(dialect, `chart/${chart.id}`), sliceName: chart.title };
}
