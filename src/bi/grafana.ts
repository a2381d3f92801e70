import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Dashboard, FieldConfigSource, Panel, RowPanel } from '@grafana/schema';
import {
  axesOf,
  type Chart,
  type ChartColumn,
  type ChartKind,
  type ChartPlace,
  isTime,
  labelOf,
  placeCharts,
} from './chart.ts';
import { type ChartDialect, POSTGRESQL, SQLITE } from './chart-dialect.ts';
import { CHART_SECTIONS, DASHBOARD } from './charts.ts';
import { type GeneratedFile, jsonFile, NOTE, yamlFile } from './generated-file.ts';

/** A Grafana data source plugin and how to query it. */
interface DataSourceKind {
  readonly plugin: string;
  readonly dialect: ChartDialect;
  /** The query object of one chart. */
  target(chart: Chart, sql: string): Readonly<Record<string, unknown>>;
}

const SQLITE_SOURCE: DataSourceKind = {
  plugin: 'frser-sqlite-datasource',
  dialect: SQLITE,
  target(chart, sql) {
    const timed = withTimes(chart, sql);
    const times = chart.columns.filter(isTime).map(({ name }) => name);
    return { queryType: 'table', queryText: timed, rawQueryText: timed, timeColumns: times };
  },
};

const POSTGRESQL_SOURCE: DataSourceKind = {
  plugin: 'grafana-postgresql-datasource',
  dialect: POSTGRESQL,
  target: (_, sql) => ({ format: 'table', rawQuery: true, rawSql: sql, editorMode: 'code' }),
};

/** The data source parses RFC 3339 timestamps only, so days get a time. */
function withTimes({ columns }: Chart, sql: string): string {
  if (!columns.some(({ type }) => type === 'date')) return sql;
  const read = columns.map(({ name, type }) => (type === 'date' ? `${name} || 'T00:00:00Z' as ${name}` : name));
  return `select ${read.join(', ')}\nfrom (\n${sql}\n)`;
}

/**
 * SQLite itself opens the file read-only if the path is a URI. The prefix must be `file://`: after `file:` the data
 * source's connection test would take the URI's path for a file name.
 */
const READ_ONLY = { pathPrefix: 'file://', pathOptions: 'mode=ro&_pragma=query_only(1)' };

/** A dashboard for each kind of database, and provisioning files for the one over the mirror file. */
export function grafanaFiles({ db, to }: { db: string; to: string }): GeneratedFile[] {
  return [
    jsonFile('dashboards/sqlite/obsync.json', dashboard(SQLITE_SOURCE)),
    jsonFile('dashboards/postgresql/obsync.json', dashboard(POSTGRESQL_SOURCE)),
    yamlFile('provisioning/datasources/obsync.yaml', {
      apiVersion: 1,
      datasources: [
        {
          name: 'obsync',
          uid: 'obsync',
          type: SQLITE_SOURCE.plugin,
          access: 'proxy',
          jsonData: { ...READ_ONLY, path: literal(pathToFileURL(db).pathname) },
        },
      ],
    }),
    yamlFile('provisioning/dashboards/obsync.yaml', {
      apiVersion: 1,
      providers: [{ name: 'obsync', type: 'file', options: { path: literal(join(to, 'dashboards', 'sqlite')) } }],
    }),
  ];
}

/** Escapes `$`, which Grafana would expand as a variable in provisioning files. */
const literal = (text: string): string => text.replaceAll('$', () => '$$');

function dashboard(source: DataSourceKind): Dashboard {
  return {
    uid: `obsync-${source.dialect.name}`,
    title: DASHBOARD.title,
    description: `${DASHBOARD.description} ${NOTE}`,
    tags: ['obsync'],
    timezone: 'utc',
    schemaVersion: 41,
    time: { from: 'now-90d', to: 'now' },
    refresh: '5m',
    templating: { list: [{ name: 'datasource', type: 'datasource', label: 'Mirror', query: source.plugin }] },
    panels: panels(source),
  };
}

const HEIGHTS: Readonly<Record<ChartKind, number>> = { value: 4, line: 9, bar: 9, table: 9 };

function panels(source: DataSourceKind): (Panel | RowPanel)[] {
  const made: (Panel | RowPanel)[] = [];
  let y = 0;
  for (const { title, charts } of CHART_SECTIONS) {
    const heading = { type: 'row', title, collapsed: false, panels: [], gridPos: { x: 0, y, w: 24, h: 1 } } as const;
    made.push({ ...heading, panels: [], id: made.length + 1 });
    const { places, nextRow } = placeCharts(charts, { columns: 24, heights: HEIGHTS, firstRow: y + 1 });
    for (const place of places) made.push({ ...panel(place, source), id: made.length + 1 });
    y = nextRow;
  }
  return made;
}

function panel(place: ChartPlace, source: DataSourceKind): Panel {
  const { chart, column: x, row: y, width: w, height: h } = place;
  const datasource = { type: source.plugin, uid: variable('datasource') };
  const target = source.target(chart, chart.sql(source.dialect));
  return {
    title: chart.title,
    description: chart.question,
    gridPos: { x, y, w, h },
    datasource,
    targets: [{ refId: 'A', datasource, ...target }],
    ...drawing(chart),
  };
}

/** The parts of a panel that depend on the kind of chart. */
function drawing(chart: Chart): Pick<Panel, 'type' | 'options' | 'fieldConfig' | 'transformations'> {
  if (chart.kind === 'value') {
    const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false };
    return { type: 'stat', options: { reduceOptions, graphMode: 'none' }, fieldConfig: fields(chart) };
  }
  if (chart.kind === 'table') return { type: 'table', options: { showHeader: true }, fieldConfig: fields(chart) };
  const { axis, series } = axesOf(chart);
  if (axis.type !== 'date')
    return {
      type: 'barchart',
      options: { xField: axis.name, legend: { showLegend: false } },
      fieldConfig: fields(chart),
    };
  const style =
    chart.kind === 'bar'
      ? { drawStyle: 'bars', fillOpacity: 80, stacking: { mode: 'normal' } }
      : { drawStyle: 'line', showPoints: 'auto', spanNulls: true };
  return {
    type: 'timeseries',
    options: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
    fieldConfig: fields(chart, { custom: style, ...(series === null ? {} : seriesName(series)) }),
    // One row per day and series becomes one line per series.
    ...(series === null ? {} : { transformations: [{ id: 'prepareTimeSeries', options: { format: 'multi' } }] }),
  };
}

const seriesName = ({ name }: ChartColumn) => ({ displayName: variable(`__field.labels.${name}`) });

/** Grafana substitutes the value. */
const variable = (name: string): string => `\${${name}}`;

const UNITS = { fraction: 'percentunit', hours: 'h' } as const;

function fields({ columns }: Chart, defaults: FieldConfigSource['defaults'] = {}): FieldConfigSource {
  const overrides = columns.map((column) => ({
    matcher: { id: 'byName', options: column.name },
    properties: [
      ...(defaults.displayName === undefined ? [{ id: 'displayName', value: labelOf(column) }] : []),
      ...(column.unit === undefined ? [] : [{ id: 'unit', value: UNITS[column.unit] }]),
      ...(column.unit === undefined ? [] : [{ id: 'decimals', value: 1 }]),
    ],
  }));
  return { defaults, overrides: overrides.filter(({ properties }) => properties.length > 0) };
}
