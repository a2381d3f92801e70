import type { ChartId } from './charts.ts';

/** Charts beside each other, each with its part of twelve columns. */
export type ChartRow = readonly (readonly [chart: ChartId, width: number])[];

export interface ChartSection {
  readonly title: string | null;
  readonly rows: readonly ChartRow[];
}

/** The pages of the dashboard, in every tool. */
export const TABS: readonly { readonly title: string; readonly sections: readonly ChartSection[] }[] = [
  {
    title: 'Data quality',
    sections: [
      {
        title: null,
        rows: [
          [
            ['failing-tests', 2],
            ['failing-assets', 2],
            ['pass-rate', 2],
            ['open-incidents', 3],
            ['mirror-age', 3],
          ],
        ],
      },
      {
        title: 'Failing now',
        rows: [
          [
            ['failing-by-owner', 6],
            ['failing-by-schema', 6],
          ],
          [['failing-list', 12]],
          [['failing-impact', 12]],
        ],
      },
      {
        title: 'Trend',
        rows: [
          [
            ['pass-rate-daily', 6],
            ['failing-runs-daily', 6],
          ],
          [
            ['health-daily', 8],
            ['history-since', 4],
          ],
        ],
      },
      {
        title: 'Incidents',
        rows: [
          [
            ['incidents-daily', 9],
            ['mean-time-to-resolve', 3],
          ],
          [['open-incidents-list', 12]],
          [['incidents-by-owner', 12]],
        ],
      },
      {
        title: 'Coverage and health',
        rows: [
          [
            ['coverage', 3],
            ['column-coverage', 3],
            ['health', 3],
            ['stale-assets', 3],
          ],
          [
            ['coverage-by-schema', 6],
            ['untested-tables', 6],
          ],
          [['worst-assets', 12]],
          [['stale-list', 12]],
        ],
      },
    ],
  },
  {
    title: 'The mirror',
    sections: [
      {
        title: null,
        rows: [
          [
            ['environments', 9],
            ['rejected-rows', 3],
          ],
          [['streams', 12]],
          [['runs', 12]],
        ],
      },
    ],
  },
];

/** The title and the description of the dashboard in every tool. */
export const DASHBOARD = {
  title: 'obsync: data quality',
  description: 'Failing tests, trends, incidents, coverage and health, and how fresh the mirror is.',
};
