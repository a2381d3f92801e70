import { CHARTS, type Chart, type ChartId } from './charts.ts';

/** Charts beside each other, each with its part of twelve columns. */
type ChartRow = readonly (readonly [chart: ChartId, width: number])[];

export interface ChartSection {
  readonly title: string | null;
  readonly rows: readonly ChartRow[];
}

function section(title: string | null, ...rows: readonly Partial<Record<ChartId, number>>[]): ChartSection {
  return { title, rows: rows.map((row) => Object.entries(row) as [ChartId, number][]) };
}

/** The pages of the dashboard, in every tool. */
export const TABS: readonly { readonly title: string; readonly sections: readonly ChartSection[] }[] = [
  {
    title: 'Data quality',
    sections: [
      section(null, { 'failing-tests': 2, 'failing-assets': 2, 'pass-rate': 2, 'open-incidents': 3, 'mirror-age': 3 }),
      section(
        'Failing now',
        { 'failing-by-owner': 6, 'failing-by-schema': 6 },
        { 'failing-list': 12 },
        { 'failing-impact': 12 },
      ),
      section('Trend', { 'pass-rate-daily': 6, 'failing-runs-daily': 6 }, { 'health-daily': 8, 'history-since': 4 }),
      section(
        'Incidents',
        { 'incidents-daily': 9, 'mean-time-to-resolve': 3 },
        { 'open-incidents-list': 12 },
        { 'incidents-by-owner': 12 },
      ),
      section(
        'Coverage and health',
        { coverage: 3, 'column-coverage': 3, health: 3, 'stale-assets': 3 },
        { 'coverage-by-schema': 6, 'untested-tables': 6 },
        { 'worst-assets': 12 },
        { 'stale-list': 12 },
      ),
    ],
  },
  {
    title: 'The mirror',
    sections: [section(null, { environments: 9, 'rejected-rows': 3 }, { streams: 12 }, { runs: 12 })],
  },
];

/** The title and the description of the dashboard in every tool. */
export const DASHBOARD = {
  title: 'obsync: data quality',
  description: 'Failing tests, trends, incidents, coverage and health, and how fresh the mirror is.',
};

export type ChartHeights = Readonly<Record<Chart['kind'], number>>;

type GridArea = Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;

export type ChartPlace = GridArea & { readonly chart: ChartId };

export type GridItem = ChartPlace | (GridArea & { readonly heading: string });

/** The sections of a page in a grid of 24 columns, from `y` on. All charts of a row are as high as the highest. */
export function gridOf(sections: readonly ChartSection[], heights: ChartHeights, y = 0): GridItem[] {
  const items: GridItem[] = [];
  let top = y;
  for (const { title, rows } of sections) {
    if (title !== null) items.push({ heading: title, x: 0, y: top++, w: 24, h: 1 });
    for (const row of rows) {
      const h = Math.max(...row.map(([chart]) => heights[CHARTS[chart].kind]));
      let x = 0;
      for (const [chart, width] of row) {
        items.push({ chart, x, y: top, w: 2 * width, h });
        x += 2 * width;
      }
      top += h;
    }
  }
  return items;
}
