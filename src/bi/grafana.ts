import { join } from 'node:path';
import type { Dashboard, Panel, RowPanel, VariableModel } from '@grafana/schema';
import { CHARTS, type Chart } from './charts.ts';
import { COLUMNS } from './dataset-columns.ts';
import { type BiDialect, postgresqlIn, SQLITE } from './dialect.ts';
import { choicesSql, type DashboardFilter, FILTERS, filtersOf } from './filters.ts';
import { type GeneratedFile, jsonFile, NOTE, yamlFile } from './generated-file.ts';
import { grafanaAlertRules } from './grafana-alerts.ts';
import { drawingOf, variable } from './grafana-panel.ts';
import { dataSource, literal, type MirrorSource } from './grafana-source.ts';
import { below, type ChartHeights, DASHBOARD, type GridPlace, placesOf, TABS } from './layout.ts';
import { answerColumnsOf, chartSql } from './query.ts';
import type { ToolPlaces } from './tool-places.ts';

/** The data source parses RFC 3339 timestamps only, so days get a time. */
const GRAFANA_SQLITE: BiDialect = { ...SQLITE, day: (day) => `${day} || 'T00:00:00Z'` };

const SQLITE_SOURCE: MirrorSource = {
  plugin: 'frser-sqlite-datasource',
  dialect: GRAFANA_SQLITE,
  target: (sql, timeColumns) => ({ queryType: 'table', queryText: sql, rawQueryText: sql, timeColumns }),
};

const postgresqlSource = (schema: string): MirrorSource => ({
  plugin: 'grafana-postgresql-datasource',
  dialect: postgresqlIn(schema),
  target: (sql) => ({ format: 'table', rawQuery: true, rawSql: sql, editorMode: 'code' }),
});

/** A dashboard, and provisioning files for it, the data source and rules for alerts. */
export function grafanaFiles({ mirror, pageUrl, to }: ToolPlaces): GeneratedFile[] {
  const plain = mirror.kind === 'file' ? SQLITE_SOURCE : postgresqlSource(mirror.schema);
  const source = { ...plain, dialect: { ...plain.dialect, pageUrl } };
  return [
    jsonFile('dashboards/obsync.json', dashboard(source)),
    yamlFile('provisioning/datasources/obsync.yaml', {
      apiVersion: 1,
      datasources: [{ name: 'obsync', uid: 'obsync', type: source.plugin, access: 'proxy', ...dataSource(mirror) }],
    }),
    yamlFile('provisioning/dashboards/obsync.yaml', {
      apiVersion: 1,
      providers: [{ name: 'obsync', type: 'file', options: { path: literal(join(to, 'dashboards')) } }],
    }),
    yamlFile('provisioning/alerting/obsync.yaml', grafanaAlertRules(source)),
  ];
}

function dashboard(source: MirrorSource): Dashboard {
  const { plugin, dialect } = source;
  return {
    uid: `obsync-${dialect.name}`,
    title: DASHBOARD.title,
    description: `${DASHBOARD.description} ${NOTE}`,
    tags: ['obsync'],
    timezone: 'utc',
    schemaVersion: 41,
    time: { from: 'now-90d', to: 'now' },
    refresh: '5m',
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', label: 'Mirror', query: plugin },
        ...FILTERS.map((filter) => filterVariable(filter, source)),
      ],
    },
    panels: panels(source),
  };
}

function filterVariable(filter: DashboardFilter, { plugin, dialect }: MirrorSource): VariableModel {
  const { name, label, isMultiple } = filter;
  return {
    name,
    label,
    type: 'query',
    datasource: { type: plugin, uid: variable('datasource') },
    query: choicesSql(filter, dialect),
    multi: isMultiple,
    includeAll: true,
    // Grafana writes it into a query as it is, so the column is compared with itself.
    allValue: comparedOf(filter),
    current: { text: 'All', value: '$__all' },
    // When the dashboard is loaded.
    refresh: 1,
  };
}

/** Rows without a value belong to all. */
const comparedOf = ({ column }: DashboardFilter): string => `coalesce(${column}, '')`;

/** The conditions of the variables and of the time picker on the rows of a chart. Grafana substitutes the values. */
function conditionsOf(chart: Chart, { time, day, dayOf }: BiDialect): string[] {
  const chosen = filtersOf(chart).map((filter) => `${comparedOf(filter)} in (${variable(`${filter.name}:sqlstring`)})`);
  const { time: column } = chart;
  if (column === null) return chosen;
  const isDay = COLUMNS[column].type === 'day';
  const [from, to] = ['__from', '__to']
    .map((name) => `'${variable(`${name}:date:iso`)}'`)
    .map((instant) => (isDay ? day(dayOf(instant)) : time(instant)));
  return [...chosen, `${column} between ${from} and ${to}`];
}

const HEIGHTS: ChartHeights = { value: 4, bar: 12, line: 9, columns: 9, table: 10 };

/** The first page has a row per section; each further one is a single row that the reader opens. */
function panels(source: MirrorSource): (Panel | RowPanel)[] {
  const made: (Panel | RowPanel)[] = [];
  let [y, id] = [0, 0];
  const row = (title: string, within: Panel[] | null): RowPanel => ({
    ...{ type: 'row', title, id: ++id, gridPos: { x: 0, y: y++, w: 24, h: 1 } },
    ...{ collapsed: within !== null, panels: within ?? [] },
  });
  for (const [i, { title: page, sections }] of TABS.entries()) {
    const within: Panel[] | null = i === 0 ? null : [];
    if (within !== null) made.push(row(page, within));
    for (const { title, rows } of sections) {
      if (title !== null && within === null) made.push(row(title, null));
      const places = placesOf(rows, HEIGHTS, y);
      y = Math.max(y, below(places));
      (within ?? made).push(...places.map((place) => panel(place, ++id, source)));
    }
  }
  return made;
}

function panel(
  { chart: chartId, ...gridPos }: GridPlace,
  id: number,
  { plugin, dialect, target }: MirrorSource,
): Panel {
  const chart: Chart = CHARTS[chartId];
  const datasource = { type: plugin, uid: variable('datasource') };
  const times = answerColumnsOf(chart).flatMap(({ name, type }) => (type === 'time' || type === 'day' ? name : []));
  const sql = chartSql(chart, dialect, conditionsOf(chart, dialect));
  return {
    id,
    title: chart.title,
    description: chart.question,
    gridPos,
    datasource,
    targets: [{ refId: 'A', datasource, ...target(sql, times) }],
    ...drawingOf(chart, `obsync-${dialect.name}`),
  };
}
