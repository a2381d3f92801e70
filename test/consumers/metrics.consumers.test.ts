import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENVS } from './awkward-mirror.ts';
import { noteEqual, runLines } from './consumer.ts';
import { isMonitoringInstalled, type Monitoring, startMonitoring } from './monitoring.ts';
import { ALERTMANAGER_VERSION } from './places.ts';

// A machine without Debian's packages or Go leaves these out; the installation says so.
describe.runIf(isMonitoringInstalled)('the metrics of obsync serve and obsync worker', () => {
  let monitoring: Monitoring;
  let version = '';
  beforeAll(async () => {
    monitoring = await startMonitoring();
    [, version = ''] = /version (\S+)/.exec(await runLines('promtool --version 2>&1', monitoring.cwd, {})) ?? [];
  });
  afterAll(() => monitoring.end());

  const note = (tool: string, what: string, count: number, of = version): void =>
    noteEqual({ tool, version: of, what }, count);

  test('promtool and amtool find nothing to criticize in the metrics, the rules and the files of docs/serve.md', async () => {
    await runLines(monitoring.lines, monitoring.cwd, {});
    note('promtool', 'lines of docs/serve.md', monitoring.lines.trimEnd().split('\n').length);
  });

  test('promtool finds that the rules of obsync bi prometheus report what is stale, never synced, held back, rejected, down or failing, and nothing else', async () => {
    copyFileSync(join(import.meta.dirname, 'alerts_test.yml'), join(monitoring.cwd, 'alerts_test.yml'));
    const printed = await runLines('promtool test rules alerts_test.yml', monitoring.cwd, {});
    expect(printed).toContain('SUCCESS');
    note('promtool', 'rules of bi prometheus', 1);
  });

  test('Prometheus scrapes both with the files of docs/serve.md, and has the values that they serve', async () => {
    const { query, metrics } = monitoring;
    await expect.poll(() => query('up == 1').then(jobsOf)).toEqual(['obsync', 'obsync-worker']);
    const rows = (await query('obsync_mirror_rows')).map(({ labels, value }) => [labels['stream'], value]);
    const served = [...(await metrics()).matchAll(/^obsync_mirror_rows\{stream="(\w+)"\} (\d+)$/gm)];
    expect(rows.sort()).toEqual(served.map(([, stream, value]) => [stream, value]).sort());
    expect(rows.length).toBeGreaterThan(5);
    const ages = await query('obsync_environment_age_seconds');
    expect(ages.map(({ labels }) => labels['environment']).sort()).toEqual([...ENVS].sort());
    const never = await query('{__name__=~"obsync_(mirror|account)_age_seconds"} == Inf');
    expect(jobsOf(never)).toEqual(['obsync', 'obsync-worker']);
    note('Prometheus', '/metrics of serve and worker', rows.length + ages.length + never.length);
  });

  test('Alertmanager delivers the alerts on a mirror, a stream and an account that were never synced', async () => {
    const expected = ['ObsyncAccountStale', 'ObsyncMirrorStale', 'ObsyncStreamStale'];
    // The account that cannot be reached may also lead to others.
    await expect.poll(() => [...monitoring.delivered]).toEqual(expect.arrayContaining(expected));
    note('Alertmanager', 'alerts of bi prometheus', expected.length, ALERTMANAGER_VERSION);
  });
});

const jobsOf = (samples: Awaited<ReturnType<Monitoring['query']>>): unknown[] =>
  samples.map(({ labels }) => labels['job']).sort();
