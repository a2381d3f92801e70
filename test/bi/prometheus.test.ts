import { readFileSync } from 'node:fs';
import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { addMirrorMetrics } from '../../src/metrics/mirror-metrics.ts';
import { createWorkerMetrics } from '../../src/workers/worker-metrics.ts';
import { readDocument, rowsOf, sectionOf } from '../docs/documents.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = parse(readFileSync(new URL('../../src/bi/alerts.yml', import.meta.url), 'utf8'));
const RULES: readonly Rule[] = groups.flatMap(({ rules }: { rules: readonly Rule[] }) => rules);

async function mirrorMetricNames(): Promise<string[]> {
  const registry = new Registry();
  addMirrorMetrics([registry]);
  return (await registry.getMetricsAsJSON()).map(({ name }) => name);
}

test('every alert is on a metric that obsync has, and says what its threshold is', async () => {
  const worker = createWorkerMetrics({ query: async () => ({ rows: [] }) } as never);
  const known = [
    ...(await mirrorMetricNames()),
    ...[...(await worker.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name),
  ];
  const named = RULES.flatMap(({ expr }) => expr.match(/obsync_\w+/g) ?? []);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  expect(new Set(named).size).toBeGreaterThan(8);
  for (const { annotations } of RULES) expect(Object.keys(annotations)).toEqual(['summary', 'threshold']);
});

test('docs/operations.md lists exactly the metrics of a mirror', async () => {
  const rows = rowsOf(sectionOf(readDocument('docs/operations.md'), 'Metrics'));
  const documented = rows.flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
  expect(documented).toEqual(await mirrorMetricNames());
});
