import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METRICS, type MetricName } from '../../schema/metrics.ts';
import { CHARTS, type ChartId, metricsOver } from '../../src/bi/charts.ts';
import { BI_METRICS, datasetSql, metricSql } from '../../src/bi/dataset.ts';
import { DATASETS, type DatasetId } from '../../src/bi/datasets.ts';
import { SQLITE } from '../../src/bi/dialect.ts';
import { chartSql } from '../../src/bi/query.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { day, fillSmallMirror } from './small-mirror.ts';

let mirror: MirrorFile;

beforeAll(() => {
  mirror = openForWriting(':memory:');
  fillSmallMirror(mirror.db);
});
afterAll(() => mirror.connection.close());

/** The first value of an answer. */
const ask = (sql: string): unknown => mirror.connection.prepare(sql).pluck().get();

describe('the metrics over a dataset', () => {
  const offered = (Object.keys(DATASETS) as DatasetId[]).flatMap((id) =>
    metricsOver(id)
      .filter((name) => BI_METRICS[name].view === (DATASETS[id].view ?? id))
      .map((name) => [name, id] as const),
  );

  test('a metric of the dictionary is over the dataset of its view, with or without a chart', () => {
    expect(offered.map(([name]) => name).sort()).toEqual(Object.keys(METRICS).sort());
  });

  test.each(offered)('%s can be computed over the dataset %s', (name, id) => {
    const dataset = DATASETS[id];
    expect(ask(`select ${metricSql(name, dataset)} from (${datasetSql(dataset, SQLITE)}) d`)).toEqual(
      expect.any(Number),
    );
  });
});

test('an asset with a full score is not among those with the worst health', () => {
  const assets = () =>
    mirror.connection
      .prepare(chartSql(CHARTS['worst-assets'], SQLITE, []))
      .pluck()
      .all();
  expect(assets()).toEqual(['bare', 'items', 'orders']);
  mirror.connection.exec("begin; update asset_health_scores set score = 1 where asset_id = 'items'");
  expect(assets()).toEqual(['bare', 'orders']);
  mirror.connection.exec('rollback');
});

describe('a number over all rows', () => {
  /** The charts that show a metric of the dictionary alone, and what their dataset leaves out. */
  const METRIC_CHARTS: Readonly<Partial<Record<ChartId, readonly [MetricName, without?: string]>>> = {
    'failing-tests': ['failing tests'],
    'failing-assets': ['failing assets'],
    'pass-rate': ['pass rate', `env_name = 'There' and day < '${day(2)}'`],
    'open-incidents': ['open incidents'],
    'mean-time-to-resolve': ['mean time to resolve'],
    coverage: ['coverage'],
    'column-coverage': ['column coverage'],
    health: ['health'],
    'stale-assets': ['freshness'],
  };

  test.each(Object.entries(METRIC_CHARTS))('%s is that of the metric over its view', (id, [metric, without]) => {
    const { expression, view } = METRICS[metric];
    const listed = without === undefined ? "env_id <> 'gone'" : `not (${without})`;
    const value = ask(`select ${expression} from ${view} where ${listed}`);
    expect(ask(chartSql(CHARTS[id as ChartId], SQLITE, []))).toBeCloseTo(Number(value), 6);
  });
});
