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

export type GridItem = ReturnType<typeof gridOf>[number];

/** The sections of a page in a grid of 24 columns, from `y` on: headings of one row, with the charts below. */
export function gridOf(sections: readonly ChartSection[], heights: ChartHeights, y = 0) {
  let top = y;
  return sections.flatMap(({ title, rows }) => {
    const heading = title === null ? [] : [{ heading: title, x: 0, y: top, w: 24, h: 1 }];
    const places = placesOf(rows, heights, top + heading.length);
    top = Math.max(...places.map((place) => place.y + place.h));
    return [...heading, ...places];
  });
}

export type ChartPlace = ReturnType<typeof placesOf>[number];

/** Places rows of charts below each other, from `y` on. All charts of a row are as high as the highest. */
export function placesOf(rows: readonly ChartRow[], heights: ChartHeights, y: number) {
  let top = y;
  return rows.flatMap((row) => {
    const h = Math.max(...row.map(([chart]) => heights[CHARTS[chart].kind]));
    let x = 0;
    const places = row.map(([chart, width]) => {
      const place = { chart, x, y: top, w: 2 * width, h };
      x += place.w;
      return place;
    });
    top += h;
    return places;
  });
}
