import type { Chart, ChartSection, QueryParts } from './chart.ts';
import type { ChartDialect } from './chart-dialect.ts';
import { FAILING_CHARTS } from './charts-failing.ts';
import { COVERAGE_CHARTS, HEALTH_CHARTS, INCIDENT_CHARTS } from './charts-quality.ts';
import { FRESHNESS_CHARTS } from './charts-sync.ts';
import type { MetricDefinition } from './mirror-dictionary.ts';

/** Every chart, in the order of the dashboards. All tools get this list. */
export const CHART_SECTIONS: readonly ChartSection[] = [
  FRESHNESS_CHARTS,
  FAILING_CHARTS,
  COVERAGE_CHARTS,
  HEALTH_CHARTS,
  INCIDENT_CHARTS,
];

export const CHARTS: readonly Chart[] = CHART_SECTIONS.flatMap(({ charts }) => charts);

/** The title of the dashboard in every tool, and what it says of itself. */
export const DASHBOARD = {
  title: 'obsync: data quality',
  description: 'Freshness of the mirror, failing tests, coverage, health and incidents.',
};

/** The query of a chart, with what the dictionary says of the metrics in it. */
export function queryOf(chart: Chart, dialect: ChartDialect, metrics: readonly MetricDefinition[]): string {
  return chart.sql(queryParts(dialect, metrics));
}

function queryParts(dialect: ChartDialect, metrics: readonly MetricDefinition[]): QueryParts {
  return {
    dialect,
    metric(name) {
      const metric = metrics.find((each) => each.name === name);
      if (metric === undefined) throw new Error(`the dictionary has no metric ${name}`);
      return metric.expression;
    },
  };
}
