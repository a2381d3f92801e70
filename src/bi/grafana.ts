import { join } from 'node:path';
import type { Dashboard, Panel, RowPanel, VariableModel } from '@grafana/schema';
import { CHARTS, type Chart } from './charts.ts';
import { COLUMNS } from './dataset-columns.ts';
import type { BiDialect } from './dialect.ts';
import { choicesSql, type DashboardFilter, FILTERS, filtersOf } from './filters.ts';
import { type GeneratedFile, jsonFile, NOTE, yamlFile } from './generated-file.ts';
import { grafanaAlertRules } from './grafana-alerts.ts';
import { drawingOf, variable } from './grafana-panel.ts';
import { literal, type MirrorSource, sourceOf } from './grafana-source.ts';
import { type ChartHeights, type ChartPlace, type ChartSection, DASHBOARD, gridOf, TABS } from './layout.ts';
import { answerColumnsOf, chartSql } from './query.ts';
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
    provisioned('alerting', { groups: [grafanaAlertRules(source)] }),
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
