import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { strToU8, type Zippable, zipSync } from 'fflate';
import { capitalize } from '../core/capitalize.ts';
import { CHARTS, type Chart, metricsOver } from './charts.ts';
import { BI_METRICS, type BiMetricName, type Dataset, datasetSql, metricSql } from './dataset.ts';
import { COLUMNS, type ColumnName, STATUS_COLORS } from './dataset-columns.ts';
import { DATASETS, type DatasetId } from './datasets.ts';
import { type BiDialect, postgresqlIn, SQLITE } from './dialect.ts';
import { type GeneratedFile, NOTE, yamlText } from './generated-file.ts';
import { DASHBOARD, TABS } from './layout.ts';
import { FILTERS } from './query.ts';
import { FORMATS, formOf, isShortTable, queryOf } from './superset-chart.ts';
import { type MirrorLocation, mirrorSchema, type ToolPlaces } from './tool-places.ts';

const VERSION = '1.0.0';

/** Identifies an object by its name, such as `chart/health`. */
type UuidOf = (name: string) => string;

/** Superset compares times with text that has a space in place of the T, and reads back what its time grains return. */
const SUPERSET_SQLITE: BiDialect = {
  ...SQLITE,
  time: (instant) => `datetime(${instant})`,
  day: (day) => `datetime(${day})`,
};

/**
 * Of a date, Superset compares only the days, so what began today would be outside of a range until now. Without a time
 * zone, times are UTC whatever the session's is.
 */
const supersetPostgresql = (schema: string): BiDialect => ({
  ...postgresqlIn(schema),
  time: (instant) => `${instant} at time zone 'UTC'`,
  day: (day) => `${day}::timestamp`,
});

/** Tables show a link if a value is HTML. */
const link = (url: string): string => `'<a href="' || replace(${url}, '"', '%22') || '" target="_blank">open</a>'`;

/**
 * Two archives of the same dashboard, charts, datasets and database. Superset's pages import the first, which leaves
 * existing charts and datasets as they are; its API imports the second, which replaces them.
 */
export function supersetFiles({ mirror, pageUrl }: ToolPlaces): GeneratedFile[] {
  const database = mirror.kind === 'file' ? SUPERSET_SQLITE : supersetPostgresql(mirror.schema);
  const dialect = { ...database, link, pageUrl };
  const files = contents(mirror, dialect);
  const archive = (type: 'Dashboard' | 'assets') => zip({ 'metadata.yaml': { version: VERSION, type }, ...files });
  return [
    { path: `obsync-${dialect.name}.zip`, bytes: archive('Dashboard') },
    { path: `obsync-${dialect.name}-assets.zip`, bytes: archive('assets') },
  ];
}

/** The same input produces the same bytes: the archive's timestamps are fixed. */
function zip(files: Readonly<Record<string, object>>): Uint8Array {
  // The archive is compressed but its comments are not, so the mark is found in a comment.
  const options = { mtime: '1980-01-01T00:00:00', comment: NOTE };
  const entries = Object.entries(files).map(([path, value]) => [`obsync/${path}`, [strToU8(yamlText(value)), options]]);
  return zipSync(Object.fromEntries(entries) as Zippable);
}

function contents(mirror: MirrorLocation, dialect: BiDialect): Record<string, object> {
  const uuid: UuidOf = (name) => uuidOf(`${dialect.name}/${name}`);
  const schema = mirrorSchema(mirror);
  const datasets = (Object.keys(DATASETS) as DatasetId[]).map((id) => [
    `datasets/obsync/${id}.yaml`,
    supersetDataset(id, schema, dialect, uuid),
  ]);
  const charts = Object.entries(CHARTS).map(([id, chart]) => [`charts/${id}.yaml`, supersetChart(id, chart, uuid)]);
  return {
    'databases/obsync.yaml': {
      database_name: `obsync (${dialect.name})`,
      sqlalchemy_uri: connectionOf(mirror),
      expose_in_sqllab: true,
      allow_dml: false,
      // The import requires these two, although its schema says that they are optional.
      allow_csv_upload: false,
      extra: {},
      uuid: uuid('database'),
      version: VERSION,
    },
    'dashboards/obsync.yaml': {
      dashboard_title: `${DASHBOARD.title} (${dialect.name})`,
      description: DASHBOARD.description,
      slug: null,
      published: true,
      uuid: uuid('dashboard'),
      ...dashboardOf(uuid),
      version: VERSION,
    },
    ...Object.fromEntries(datasets),
    ...Object.fromEntries(charts),
  };
}

/** A version 5 UUID of the name, by which a later import finds the object again. */
function uuidOf(name: string): string {
  const hash = createHash('sha1').update(`obsync/${name}`).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function supersetDataset(id: DatasetId, schema: string, dialect: BiDialect, uuid: UuidOf): object {
  const dataset = DATASETS[id];
  const columns = Object.keys(dataset.select) as ColumnName[];
  return {
    table_name: `obsync ${dialect.name}: ${dataset.title}`,
    description: dataset.description,
    schema,
    sql: datasetSql(dataset, dialect),
    main_dttm_col: dataset.time ?? null,
    uuid: uuid(`dataset/${id}`),
    database_uuid: uuid('database'),
    columns: columns.map((name) => datasetColumn(name, dialect)),
    metrics: metricsOver(id).map((name) => datasetMetric(name, dataset)),
    version: VERSION,
  };
}

const NO_ZONE = 'TIMESTAMP WITHOUT TIME ZONE';
const TYPES = {
  sqlite: { text: 'TEXT', integer: 'INTEGER', real: 'REAL', flag: 'BOOLEAN', time: 'DATETIME', day: 'DATETIME' },
  postgresql: {
    text: 'TEXT',
    integer: 'BIGINT',
    real: 'DOUBLE PRECISION',
    flag: 'BOOLEAN',
    time: NO_ZONE,
    day: NO_ZONE,
  },
};

function datasetColumn(name: ColumnName, dialect: BiDialect): object {
  const { label, type, description = null } = COLUMNS[name];
  return {
    column_name: name,
    verbose_name: label,
    description,
    type: TYPES[dialect.name][type],
    is_dttm: type === 'time' || type === 'day',
    groupby: true,
    filterable: true,
  };
}

function datasetMetric(name: BiMetricName, dataset: Dataset): object {
  const { unit, description } = BI_METRICS[name];
  return {
    metric_name: name,
    verbose_name: capitalize(name),
    expression: metricSql(name, dataset),
    description,
    d3format: FORMATS[unit],
  };
}

function supersetChart(id: string, chart: Chart, uuid: UuidOf): object {
  const form = formOf(chart);
  return {
    slice_name: chart.title,
    description: chart.question,
    viz_type: form.viz_type,
    params: form,
    query_context: JSON.stringify({
      // The import enters the dataset's number.
      datasource: { id: 0, type: 'table' },
      force: false,
      queries: [queryOf(chart)],
      form_data: form,
      result_format: 'json',
      result_type: 'full',
    }),
    uuid: uuid(`chart/${id}`),
    dataset_uuid: uuid(`dataset/${chart.dataset}`),
    version: VERSION,
  };
}

/** In place of a password: Superset asks for one, or keeps the one that it has. */
const PASSWORD_MASK = 'X'.repeat(10);

/** How Superset reaches the mirror. */
function connectionOf(mirror: MirrorLocation): string {
  if (mirror.kind === 'file') return `sqlite:///file:${pathToFileURL(mirror.path).pathname}?mode=ro&uri=true`;
  const { username, host, pathname } = new URL(mirror.display);
  const login = `postgresql://${username}:${PASSWORD_MASK}@`;
  const [folder = '', port = ''] = decodeURIComponent(host).split(':');
  if (host.startsWith('%2F')) return `${login}${pathname}?${new URLSearchParams({ host: folder, port })}`;
  return `${login}${host}${pathname}${mirror.sslmode === undefined ? '' : `?sslmode=${mirror.sslmode}`}`;
}

/** The layout of the dashboard, and its filters and colours. */
function dashboardOf(uuid: UuidOf): object {
  const filters = FILTERS.map(({ label, column, dataset, isMultiple }) => {
    const target = { column: { name: column }, datasetUuid: uuid(`dataset/${dataset}`) };
    const choice = { multiSelect: isMultiple, searchAllOptions: false, inverseSelection: false };
    return filter(label, 'filter_select', target, choice);
  });
  return {
    position: position(uuid),
    metadata: {
      refresh_frequency: 300,
      label_colors: STATUS_COLORS,
      cross_filters_enabled: true,
      native_filter_configuration: [...filters, filter('Time', 'filter_time', {}, {})],
    },
  };
}

function filter(name: string, filterType: string, target: object, choice: object): object {
  return {
    id: `NATIVE_FILTER-${name.toLowerCase()}`,
    type: 'NATIVE_FILTER',
    name,
    description: '',
    filterType,
    targets: [target],
    controlValues: { enableEmptyFilter: false, defaultToFirstItem: false, ...choice },
    defaultDataMask: { extraFormData: {}, filterState: {}, ownState: {} },
    cascadeParentIds: [],
    scope: { rootPath: ['ROOT_ID'], excluded: [] },
    chartsInScope: Object.keys(CHARTS).map((_, i) => i + 1),
    tabsInScope: TABS.map((_, i) => `TAB-${i}`),
  };
}

/** The layout tree: tabs with a header and rows for each section, and charts in the rows. */
function position(uuid: UuidOf): object {
  const nodes: Record<string, { readonly children: string[] }> = {};
  const add = (type: string, id: string, parents: readonly string[], meta?: object): readonly string[] => {
    Object.assign(nodes, { [id]: { type, id, children: [], parents, meta } });
    nodes[parents.at(-1) ?? '']?.children.push(id);
    return [...parents, id];
  };
  const tabs = add('TABS', 'TABS', add('GRID', 'GRID_ID', add('ROOT', 'ROOT_ID', [])), {});
  for (const [i, { title: text, sections }] of TABS.entries()) {
    const tab = add('TAB', `TAB-${i}`, tabs, { text });
    for (const [j, { title, rows }] of sections.entries()) {
      if (title !== null) add('HEADER', `HEADER-${i}-${j}`, tab, { text: title, headerSize: 'MEDIUM_HEADER' });
      for (const [k, charts] of rows.entries()) {
        const row = add('ROW', `ROW-${i}-${j}-${k}`, tab, { background: 'BACKGROUND_TRANSPARENT' });
        const height = Math.max(...charts.map(([id]) => heightOf(CHARTS[id])));
        for (const [id, width] of charts) {
          // The number links to the chart within the file only: the import replaces it with its own, found by the UUID.
          const link = { chartId: Object.keys(CHARTS).indexOf(id) + 1, uuid: uuid(`chart/${id}`) };
          add('CHART', `CHART-${id}`, row, { ...link, sliceName: CHARTS[id].title, width, height });
        }
      }
    }
  }
  return {
    DASHBOARD_VERSION_KEY: 'v2',
    ...nodes,
    HEADER_ID: { type: 'HEADER', id: 'HEADER_ID', meta: { text: DASHBOARD.title } },
  };
}

const HEIGHTS: Readonly<Record<Chart['kind'], number>> = { value: 18, bar: 50, line: 45, columns: 45, table: 60 };

const heightOf = (chart: Chart): number => (isShortTable(chart) ? 30 : HEIGHTS[chart.kind]);
