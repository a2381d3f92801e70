import type { FieldConfigSource, Panel } from '@grafana/schema';
import type { Chart } from './charts.ts';
import { FILTERS, filterOf } from './filters.ts';
import { type AnswerColumn, answerColumnsOf } from './query.ts';
import { isStatus, STATUS_COLORS } from './status-colors.ts';

/** Grafana substitutes the value. */
export const variable = (name: string): string => `\${${name}}`;

/** The parts of a panel that depend on the kind of chart. */
export function drawingOf(
  chart: Chart,
  dashboard: string,
): Pick<Panel, 'type' | 'options' | 'fieldConfig' | 'transformations'> {
  if (chart.kind === 'value') {
    const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false };
    return {
      type: 'stat',
      options: { reduceOptions, graphMode: 'none', colorMode: 'value' },
      fieldConfig: fields(chart, { thresholds: thresholds(chart.isBad === true) }),
    };
  }
  if (chart.kind === 'table')
    return {
      type: 'table',
      options: { showHeader: true },
      fieldConfig: fields(chart, { custom: { filterable: true } }),
    };
  return chart.kind === 'bar' ? bars(chart, dashboard) : trend(chart);
}

/** Without thresholds of its own, a panel would be green below 80 and red from there on. */
function thresholds(isBad: boolean): NonNullable<FieldConfigSource['defaults']['thresholds']> {
  const base = { value: null, color: 'text' };
  return {
    mode: 'absolute',
    steps: isBad ? [base, { value: 1, color: STATUS_COLORS.FAIL }] : [base],
  } as ReturnType<typeof thresholds>;
}

function bars(chart: Chart, dashboard: string): ReturnType<typeof drawingOf> {
  const [axis] = chart.columns;
  const filter = filterOf(axis);
  const others = FILTERS.filter((each) => each !== filter).map(({ name }) => variable(`${name}:queryparam`));
  const chosen = `var-${filter?.name}=${variable(`__data.fields.${axis}:percentencode`)}`;
  const url = `/d/${dashboard}?${[chosen, ...others, variable('__url_time_range')].join('&')}`;
  return {
    type: 'barchart',
    options: { xField: axis, orientation: 'horizontal', showValue: 'always', legend: { showLegend: false } },
    fieldConfig: fields(chart, filter === undefined ? {} : { links: [{ title: `Only this ${filter.name}`, url }] }),
  };
}

function trend(chart: Chart): ReturnType<typeof drawingOf> {
  const { kind, columns } = chart;
  const [, series] = columns;
  const style =
    kind === 'columns'
      ? { drawStyle: 'bars', fillOpacity: 80, stacking: { mode: 'normal' } }
      : { drawStyle: 'line', showPoints: 'always', spanNulls: true };
  const fieldConfig = fields(chart, {
    custom: style,
    ...(series === undefined ? {} : { displayName: variable(`__field.labels.${series}`) }),
  });
  return {
    type: 'timeseries',
    options: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
    fieldConfig:
      series === 'worst_status'
        ? { ...fieldConfig, overrides: [...fieldConfig.overrides, ...statusSeries()] }
        : fieldConfig,
    // One row per day and series becomes one line per series.
    ...(series === undefined ? {} : { transformations: [{ id: 'prepareTimeSeries', options: { format: 'multi' } }] }),
  };
}

const fixed = (fixedColor: string) => ({ id: 'color', value: { mode: 'fixed', fixedColor } });

/** The name of a series ends with its label. */
function statusSeries(): FieldConfigSource['overrides'] {
  return Object.entries(STATUS_COLORS).map(([status, color]) => ({
    matcher: { id: 'byRegexp', options: `/\\b${status}$/` },
    properties: [fixed(color)],
  }));
}

const UNITS = { fraction: 'percentunit', hours: 'h' } as const;

/** How the columns of a chart's answer are named and shown. */
function fields(chart: Chart, defaults: FieldConfigSource['defaults']): FieldConfigSource {
  const columns = answerColumnsOf(chart);
  const hasUrl = columns.some(({ name }) => name === 'url');
  const overrides = columns.map((column) => ({
    matcher: { id: 'byName', options: column.name },
    properties: [
      ...(defaults.displayName === undefined ? [{ id: 'displayName', value: column.label }] : []),
      ...(column.unit === undefined
        ? []
        : [
            { id: 'unit', value: UNITS[column.unit] },
            { id: 'decimals', value: 1 },
          ]),
      ...(hasUrl && column.name === 'asset_name' ? [LINK] : []),
      ...(column.name === 'url' ? [{ id: 'custom.hidden', value: true }] : []),
      ...statusProperties(column),
    ],
  }));
  return { defaults, overrides: overrides.filter(({ properties }) => properties.length > 0) };
}

/** The address is complete, so Grafana must not encode it. */
const LINK = {
  id: 'links',
  value: [{ title: 'Open the asset', url: variable('__data.fields.url:raw'), targetBlank: true }],
};

/** The colours of a count of one status, and of a cell with a status. */
function statusProperties({ name, label }: AnswerColumn): { readonly id: string; readonly value: unknown }[] {
  const color = Object.entries(STATUS_COLORS).find(([status]) => status === label)?.[1];
  if (color !== undefined) return [fixed(color)];
  if (!isStatus(name)) return [];
  const options = Object.fromEntries(
    Object.entries(STATUS_COLORS).map(([status, each], index) => [status, { color: each, index }]),
  );
  return [
    { id: 'mappings', value: [{ type: 'value', options }] },
    { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } },
  ];
}
