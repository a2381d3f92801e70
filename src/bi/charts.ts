import type { Chart, ChartSection } from './chart.ts';
import { FAILING_CHARTS } from './charts-failing.ts';
import { COVERAGE_CHARTS, HEALTH_CHARTS, INCIDENT_CHARTS } from './charts-quality.ts';
import { FRESHNESS_CHARTS } from './charts-sync.ts';

/** All charts, in dashboard order. Every tool gets the same list. */
export const CHART_SECTIONS: readonly ChartSection[] = [
  FRESHNESS_CHARTS,
  FAILING_CHARTS,
  COVERAGE_CHARTS,
  HEALTH_CHARTS,
  INCIDENT_CHARTS,
];

export const CHARTS: readonly Chart[] = CHART_SECTIONS.flatMap(({ charts }) => charts);

/** The title and the description of the dashboard in every tool. */
export const DASHBOARD = {
  title: 'obsync: data quality',
  description: 'Freshness of the mirror, failing tests, coverage, health and incidents.',
};
