import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Dashboard, Panel, RowPanel, VariableModel } from '@grafana/schema';
import { CHARTS, type Chart, chart } from './charts.ts';
import { COLUMNS } from './dataset-columns.ts';
import { type BiDialect, postgresqlIn, SQLITE } from './dialect.ts';
import { type GeneratedFile, jsonFile, NOTE, yamlFile } from './generated-file.ts';
import { drawingOf, variable } from './grafana-panel.ts';
import { type ChartHeights, type ChartPlace, type ChartSection, DASHBOARD, gridOf, TABS } from './layout.ts';
import { answerColumnsOf, chartSql, choicesSql, type DashboardFilter, FILTERS, filtersOf } from './query.ts';
import type { ToolPlaces } from './tool-places.ts';

/** A dashboard, and provisioning files for it, the data source and rules for alerts. */
export function grafanaFiles(places: ToolPlaces): GeneratedFile[] {
  const source = sourceOf(places);
  const { plugin, connection } = source;
  const provisioned = (what: string, parts: object): GeneratedFile =>
    yamlFile(`provisioning/${what}/obsync.yaml`, { apiVersion: 1, ...parts });
  return [
    jsonFile('dashboards/obsync.json', dashboard(source)),
    provisioned('datasources', {
      datasources: [{ name: 'obsync', uid: 'obsync', type: plugin, access: 'proxy', ...connection }],
    }),
    provisioned('dashboards', {
      providers: [{ name: 'obsync', type: 'file', options: { path: literal(join(places.to, 'dashboards')) } }],
    }),
    provisioned('alerting', { groups: [alertRules(source)] }),
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
  let [id, y] = [0, 0];
  const row = (title: string, top: number, collapsed: boolean): RowPanel => ({
    ...{ type: 'row', title, id: ++id, gridPos: { x: 0, y: top, w: 24, h: 1 }, collapsed, panels: [] },
  });
  const drawn = (sections: readonly ChartSection[]): (Panel | RowPanel)[] => {
    const items = gridOf(sections, HEIGHTS, y);
    y = Math.max(...items.map((item) => item.y + item.h));
    return items.map((item) => ('heading' in item ? row(item.heading, item.y, false) : panel(item, ++id, source)));
  };
  return TABS.flatMap(({ title, sections }, i) => {
    if (i === 0) return drawn(sections);
    const closed = row(title, y++, true);
    // Grafana has no rows within a row.
    return { ...closed, panels: drawn(sections).filter((each): each is Panel => each.type !== 'row') };
  });
}

function panel({ chart: chartId, ...gridPos }: ChartPlace, id: number, source: MirrorSource): Panel {
  const { plugin, dialect, target } = source;
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

/** A Grafana data source plugin, how it reaches the mirror and how to query it. */
interface MirrorSource {
  readonly plugin: string;
  readonly connection: object;
  readonly dialect: BiDialect;
  /** The query object. */
  readonly target: (sql: string, timeColumns: readonly string[]) => object;
}

function sourceOf({ mirror, pageUrl }: ToolPlaces): MirrorSource {
  if (mirror.kind === 'file')
    return {
      plugin: 'frser-sqlite-datasource',
      connection: { jsonData: { ...READ_ONLY, path: literal(pathToFileURL(mirror.path).pathname) } },
      // The data source parses RFC 3339 timestamps only, so days get a time.
      dialect: { ...SQLITE, pageUrl, day: (day) => `${day} || 'T00:00:00Z'` },
      target: (sql, timeColumns) => ({ queryType: 'table', queryText: sql, rawQueryText: sql, timeColumns }),
    };
  const { host, username, pathname } = new URL(mirror.display);
  return {
    plugin: 'grafana-postgresql-datasource',
    connection: {
      url: literal(decodeURIComponent(host)),
      user: literal(decodeURIComponent(username)),
      // Grafana takes the values from its environment.
      jsonData: { database: literal(decodeURIComponent(pathname.slice(1))), sslmode: '$PGSSLMODE' },
      secureJsonData: { password: '$PGPASSWORD' },
    },
    dialect: { ...postgresqlIn(mirror.schema), pageUrl },
    target: (sql) => ({ format: 'table', rawQuery: true, rawSql: sql, editorMode: 'code' }),
  };
}

/**
 * SQLite itself opens the file read-only if the path is a URI. The prefix must be `file://`: after `file:` the data
 * source's connection test would take the URI's path for a file name.
 */
const READ_ONLY = { pathPrefix: 'file://', pathOptions: 'mode=ro&_pragma=query_only(1)' };

/** Escapes `$`, which Grafana would expand as a variable in provisioning files. */
const literal = (text: string): string => text.replaceAll('$', () => '$$');

/**
 * The only metric of a rule's rows is compared with `above`, in each environment; `noData` is what an answer without
 * rows means. The question is the summary of an alert. The templates use `.Labels`, since Grafana may take `$labels`
 * for a variable of its environment.
 */
const RULES = [
  {
    id: 'stale',
    rows: chart('table', 'The mirror is stale', 'environments', {
      question: 'A stream of {{ .Labels.env_name }} was not synced for two hours',
      columns: ['env_name'],
      metrics: ['hours since sync'],
      where: 'hours_since_sync is not null',
    }),
    above: 2,
    noData: 'Alerting',
    severity: 'critical',
    threshold: 'Two hours: more than the interval between syncs',
  },
  {
    id: 'failing',
    rows: chart('table', 'Tests are failing', 'failing_tests', {
      question: 'Tests of {{ .Labels.env_name }} have the result FAIL or ERROR',
      columns: ['env_name'],
      metrics: ['failing tests'],
      where: "status in ('FAIL', 'ERROR')",
    }),
    above: 0,
    noData: 'OK',
    severity: 'warning',
    threshold: 'None; tests that only warn do not count',
  },
];

/** Rules over the SQL itself: alerting does not know the variables of a dashboard. */
function alertRules({ target, dialect }: MirrorSource): object {
  const rules = RULES.map(({ id, rows, above, noData, severity, threshold }) => {
    const query = { refId: 'A', ...target(chartSql(rows, dialect, []), []) };
    const conditions = [{ evaluator: { type: 'gt', params: [above] } }];
    const condition = { refId: 'B', type: 'threshold', expression: 'A', conditions };
    return {
      uid: `obsync-${id}`,
      title: rows.title,
      condition: 'B',
      data: [
        { refId: 'A', relativeTimeRange: { from: 600, to: 0 }, datasourceUid: 'obsync', model: query },
        { refId: 'B', datasourceUid: '__expr__', model: condition },
      ],
      noDataState: noData,
      execErrState: 'Error',
      for: '0s',
      annotations: { summary: rows.question, threshold },
      labels: { severity },
    };
  });
  return { orgId: 1, name: 'obsync', folder: 'obsync', interval: '5m', rules };
}
