import { CHARTS, type Chart } from './charts.ts';
import { FILTERS } from './filters.ts';
import { DASHBOARD, TABS } from './layout.ts';
import { STATUS_COLORS } from './status-colors.ts';
import { isShortTable } from './superset-chart.ts';

/** Identifies an object by its name, such as `chart/health`. */
export type UuidOf = (name: string) => string;

/** The layout of the dashboard, and its filters and colours. */
export function dashboardOf(uuid: UuidOf): object {
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
