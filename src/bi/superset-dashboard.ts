import { CHARTS, type Chart, type ChartId } from './charts.ts';
import { type DashboardFilter, FILTERS } from './filters.ts';
import { type ChartRow, type ChartSection, DASHBOARD, TABS } from './layout.ts';
import { STATUS_COLORS } from './status-colors.ts';
import { isShortTable } from './superset-chart.ts';

/** The layout of the dashboard, and its filters and colours. `uuid` identifies an object by its name. */
export function dashboardOf(uuid: (name: string) => string): { readonly position: object; readonly metadata: object } {
  return {
    position: position(uuid),
    metadata: {
      refresh_frequency: 300,
      label_colors: STATUS_COLORS,
      cross_filters_enabled: true,
      native_filter_configuration: [
        ...FILTERS.map((each) => selectFilter(each, uuid)),
        filter('Time', 'filter_time', [{}]),
      ],
    },
  };
}

function selectFilter({ label, column, dataset, isMultiple }: DashboardFilter, uuid: (name: string) => string): object {
  const target = { column: { name: column }, datasetUuid: uuid(`dataset/${dataset}`) };
  return filter(label, 'filter_select', [target], {
    multiSelect: isMultiple,
    searchAllOptions: false,
    inverseSelection: false,
  });
}

function filter(name: string, filterType: string, targets: readonly object[], controlValues: object = {}): object {
  return {
    id: `NATIVE_FILTER-${name.toLowerCase()}`,
    type: 'NATIVE_FILTER',
    name,
    description: '',
    filterType,
    targets,
    controlValues: { enableEmptyFilter: false, defaultToFirstItem: false, ...controlValues },
    defaultDataMask: { extraFormData: {}, filterState: {}, ownState: {} },
    cascadeParentIds: [],
    scope: { rootPath: ['ROOT_ID'], excluded: [] },
    chartsInScope: Object.keys(CHARTS).map((_, i) => i + 1),
    tabsInScope: TABS.map((_, i) => `TAB-${i}`),
  };
}

interface PositionNode {
  readonly type: string;
  readonly id: string;
  readonly children: string[];
  readonly parents: readonly string[];
  readonly meta?: object;
}

/** The layout tree: tabs with a header and rows for each section, and charts in the rows. */
function position(uuid: (name: string) => string): object {
  const nodes: Record<string, PositionNode> = {};
  const add = (type: string, id: string, within: readonly string[], meta?: object): readonly string[] => {
    nodes[id] = { type, id, children: [], parents: within, ...(meta === undefined ? {} : { meta }) };
    nodes[within.at(-1) ?? '']?.children.push(id);
    return [...within, id];
  };
  const addRow = (row: ChartRow, id: string, within: readonly string[]): void => {
    const path = add('ROW', id, within, { background: 'BACKGROUND_TRANSPARENT' });
    const height = Math.max(...row.map(([chart]) => heightOf(CHARTS[chart])));
    for (const [chart, width] of row)
      add('CHART', `CHART-${chart}`, path, { ...chartMeta(chart, uuid), width, height });
  };
  const addSection = ({ title, rows }: ChartSection, id: string, within: readonly string[]): void => {
    if (title !== null) add('HEADER', `HEADER-${id}`, within, { text: title, headerSize: 'MEDIUM_HEADER' });
    for (const [i, row] of rows.entries()) addRow(row, `ROW-${id}-${i}`, within);
  };
  const tabs = add('TABS', 'TABS', add('GRID', 'GRID_ID', add('ROOT', 'ROOT_ID', [])), {});
  for (const [i, { title, sections }] of TABS.entries()) {
    const tab = add('TAB', `TAB-${i}`, tabs, { text: title });
    for (const [j, section] of sections.entries()) addSection(section, `${i}-${j}`, tab);
  }
  return {
    DASHBOARD_VERSION_KEY: 'v2',
    ...nodes,
    HEADER_ID: { type: 'HEADER', id: 'HEADER_ID', meta: { text: DASHBOARD.title } },
  };
}

const HEIGHTS: Readonly<Record<Chart['kind'], number>> = { value: 18, bar: 50, line: 45, columns: 45, table: 60 };

const heightOf = (chart: Chart): number => (isShortTable(chart) ? 30 : HEIGHTS[chart.kind]);

function chartMeta(id: ChartId, uuid: (name: string) => string): object {
  // The number links to the chart within the file only: the import replaces it with its own, found by the UUID.
  return { chartId: Object.keys(CHARTS).indexOf(id) + 1, uuid: uuid(`chart/${id}`), sliceName: CHARTS[id].title };
}
