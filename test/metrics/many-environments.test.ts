import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { noRows } from '../../src/metrics/cache-measurements.ts';
import { MEASUREMENTS } from '../../src/metrics/measurements.ts';
import { addMirrorMetrics } from '../../src/metrics/mirror-metrics.ts';
import { syncAges } from '../../src/metrics/sync-ages.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

const AT = '2026-11-20T12:00:00.000000Z';
const NOW_MS = Date.parse(AT) + 60_000;

test('the ages of 20,000 environments are known', () => {
  const checkpoints = Array.from({ length: 20_000 }, (_, i) =>
    CATALOGUE.map(({ name }) => ({ environment: `e${i}`, stream: name, watermark: AT, unavailable: 0 })),
  ).flat();
  const { oldest, environments, streams } = syncAges({ lastSync: [], checkpoints }, NOW_MS);
  expect([oldest, environments.length, streams.length]).toEqual([60, 20_000, 20_000 * CATALOGUE.length]);
});

test('what was counted is looked through once, however many environments there are', async () => {
  let reads = 0;
  const failing = Array.from({ length: 500 }, (_, i) => ({
    get environment() {
      reads += 1;
      return `e${i}`;
    },
    ...{ status: 'FAIL', number: i },
  }));
  const checkpoints = failing.map((_, i) => ({
    environment: `e${i}`,
    stream: null,
    watermark: null,
    unavailable: null,
  }));
  const registry = new Registry();
  addMirrorMetrics([registry])({ ...noRows(MEASUREMENTS), checkpoints, failing }, NOW_MS);
  expect(reads).toBe(500);
  expect(await registry.metrics()).toContain('obsync_failing_tests{environment="e499",status="FAIL"} 499\n');
});
