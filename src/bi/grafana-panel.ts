import type { FieldConfigSource, Panel } from '@grafana/schema';
import type { Chart } from './charts.ts';
import { isStatus, STATUS_COLORS } from './dataset-columns.ts';
import { answerColumnsOf, FILTERS, filterOf } from './query.ts';

/** Grafana substitutes the value. */
export const variable = (name: string): string => `\${${name}}`;

type PanelDrawing = Pick<Panel, 'type' | 'options' | 'fieldConfig' | 'transformations'>;

/** The parts of a panel that depend on the kind of chart. */
export function drawingOf(chart: Chart, dashboard: string): PanelDrawing {
  if (chart.kind === 'value') return number(chart);
  if (chart.kind === 'bar') return bars(chart, dashboard);
  if (chart.kind !== 'table') return trend(chart);
  return { type: 'table', options: { showHeader: true }, fieldConfig: fields(chart, { custom: { filterable: true } }) };
}

function number(chart: Chart): PanelDrawing {
  const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false };
  const above = chart.isBad ? [{ value: 1, color: STATUS_COLORS.FAIL }] : [];
  // Without thresholds of its own, a panel would be green below 80 and red from there on.
  const steps = [{ value: null, color: 'text' }, ...above];
  const thresholds = { mode: 'absolute', steps } as NonNullable<FieldConfigSource['defaults']['thresholds']>;
  return {
    type: 'stat',
    options: { reduceOptions, graphMode: 'none', colorMode: 'value' },
    fieldConfig: fields(chart, { thresholds }),
  };
}

function bars(chart: Chart, dashboard: string): PanelDrawing {
  const [axis] = chart.columns;
  const filter = filterOf(chart);
  const others = FILTERS.filter((each) => each !== filter).map(({ name }) => variable(`${name}:queryparam`));
  const chosen = `var-${filter?.name}=${variable(`__data.fields.${axis}:percentencode`)}`;
  const url = `/d/${dashboard}?${[chosen, ...others, variable('__url_time_range')].join('&')}`;
  return {
    type: 'barchart',
    options: { xField: axis, orientation: 'horizontal', showValue: 'always', legend: { showLegend: false } },
    fieldConfig: fields(chart, filter && { links: [{ title: `Only this ${filter.name}`, url }] }),
  };
}

function trend(chart: Chart): PanelDrawing {
  const [, series] = chart.columns;
  const custom =
    chart.kind === 'columns'
      ? { drawStyle: 'bars', fillOpacity: 80, stacking: { mode: 'normal' } }
      : { drawStyle: 'line', showPoints: 'always', spanNulls: true };
  const displayName = series && { displayName: variable(`__field.labels.${series}`) };
  const { defaults, overrides } = fields(chart, { custom, ...displayName });
  return {
    type: 'timeseries',
    options: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
    fieldConfig: { defaults, overrides: [...overrides, ...(series === 'worst_status' ? STATUS_SERIES : [])] },
    // One row per day and series becomes one line per series.
    ...(series && { transformations: [{ id: 'prepareTimeSeries', options: { format: 'multi' } }] }),
  };
}

const fixed = (fixedColor: string) => ({ id: 'color', value: { mode: 'fixed', fixedColor } });

/** The name of a series ends with its label. */
const STATUS_SERIES = Object.entries(STATUS_COLORS).map(([status, color]) => ({
  matcher: { id: 'byRegexp', options: `/\\b${status}$/` },
  properties: [fixed(color)],
}));

/** How the columns of a chart's answer are named and shown. */
function fields(chart: Chart, defaults: FieldConfigSource['defaults'] = {}): FieldConfigSource {
  const columns = answerColumnsOf(chart);
  const hasUrl = columns.some(({ name }) => name === 'url');
  const overrides = columns.map(({ name, label, unit }) => ({
    matcher: { id: 'byName', options: name },
    properties: [
      ...(defaults.displayName === undefined ? [{ id: 'displayName', value: label }] : []),
      ...(unit === undefined ? [] : UNITS[unit]),
      ...(hasUrl && name === 'asset_name' ? [LINK] : []),
      ...(name === 'url' ? [{ id: 'custom.hidden', value: true }] : []),
      // A count of one status.
      ...Object.entries(STATUS_COLORS).flatMap(([status, color]) => (status === label ? fixed(color) : [])),
      ...(isStatus(name) ? STATUS_CELLS : []),
    ],
  }));
  return { defaults, overrides: overrides.filter(({ properties }) => properties.length > 0) };
}

const ONE_DECIMAL = { id: 'decimals', value: 1 };

const UNITS = {
  fraction: [{ id: 'unit', value: 'percentunit' }, ONE_DECIMAL],
  hours: [{ id: 'unit', value: 'h' }, ONE_DECIMAL],
};

/** The address is complete, so Grafana must not encode it. */
const LINK = {
  id: 'links',
  value: [{ title: 'Open the asset', url: variable('__data.fields.url:raw'), targetBlank: true }],
};

const STATUS_VALUES = Object.entries(STATUS_COLORS).map(([status, color], index) => [status, { color, index }]);

/** A cell with a status has its colour. */
const STATUS_CELLS = [
  { id: 'mappings', value: [{ type: 'value', options: Object.fromEntries(STATUS_VALUES) }] },
  { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } },
];
