import { METRICS, type MetricName } from '../../schema/metrics.ts';
import type { ChartDialect } from './chart-dialect.ts';

/** A question about the mirror, its query, and how the answer is drawn. */
export interface Chart {
  /** Never changes: tools identify a chart by it. */
  readonly id: string;
  readonly title: string;
  readonly question: string;
  readonly kind: ChartKind;
  /** The columns of the result, in the query's order. */
  readonly columns: readonly ChartColumn[];
  sql(dialect: ChartDialect): string;
}

/** The SQL expression of a metric. */
export const metric = (name: MetricName): string => METRICS[name].expression;

/**
 * `value` is a single number. In `line` and `bar` the first column is the axis, and a second text column names the
 * series.
 */
export type ChartKind = 'value' | 'line' | 'bar' | 'table';

export interface ChartColumn {
  readonly name: string;
  readonly type: 'text' | 'integer' | 'real' | 'timestamp' | 'date';
  /** How to read the number: a fraction of 1, or hours. */
  readonly unit?: 'fraction' | 'hours';
}

export interface ChartSection {
  readonly title: string;
  readonly charts: readonly Chart[];
}

/** The columns of a line or bar chart by their role. */
export interface ChartAxes {
  readonly axis: ChartColumn;
  /** Null if each number column is its own series. */
  readonly series: ChartColumn | null;
  readonly values: readonly ChartColumn[];
}

export function axesOf({ columns }: Chart): ChartAxes {
  const [axis, ...others] = columns as readonly [ChartColumn, ...ChartColumn[]];
  const series = others.find(({ type }) => type === 'text') ?? null;
  return { axis, series, values: others.filter((column) => column !== series) };
}

/** Whether a column holds times or days. */
export const isTime = ({ type }: ChartColumn): boolean => type === 'timestamp' || type === 'date';

/** The display name: `failing_tests` becomes `failing tests`. */
export function labelOf({ name }: ChartColumn): string {
  return name.replaceAll('_', ' ');
}

/** The position of a chart in a grid. */
export interface ChartPlace {
  readonly chart: Chart;
  readonly column: number;
  readonly row: number;
  readonly width: number;
  readonly height: number;
}

/** How wide a chart is, as a fraction of the dashboard. */
const PARTS: Readonly<Record<ChartKind, number>> = { value: 1 / 4, line: 1 / 2, bar: 1 / 2, table: 1 };

/** Lays charts out in lines; all charts of a line are as high as the highest. */
export function placeCharts(
  charts: readonly Chart[],
  { columns, heights, firstRow }: { columns: number; heights: Readonly<Record<ChartKind, number>>; firstRow: number },
): { readonly places: readonly ChartPlace[]; readonly nextRow: number } {
  const places: ChartPlace[] = [];
  let [column, row, nextRow] = [0, firstRow, firstRow];
  for (const chart of charts) {
    const [width, height] = [columns * PARTS[chart.kind], heights[chart.kind]];
    if (column + width > columns) [column, row] = [0, nextRow];
    places.push({ chart, column, row, width, height });
    column += width;
    nextRow = Math.max(nextRow, row + height);
  }
  return { places, nextRow };
}
