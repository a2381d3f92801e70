import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { heldRemovals, mirror as mirrorTable, rejectedRows, syncCheckpoints, syncRuns } from '../../schema/sync.ts';
import { mirrorMetrics } from '../../src/api/mirror-metrics.ts';
import { readMirrorRows } from '../../src/api/read-mirror-rows.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { copy, sync } from '../../src/index.ts';
import { MEASUREMENTS } from '../../src/metrics/measurements.ts';
import { folder, mirrorFile } from '../cli/setup.ts';
import { asset, insert, run, test_ } from '../server/fixture.ts';
import { EMPTY_PAGE, startApiServer } from '../support/api-server.ts';
import { testSchema } from '../support/postgres.ts';

const AT = '2026-11-20T12:00:00.000000Z';
const listed = { cron: null, mirrored_at: AT };
const bucket = { env_id: 'e', test_count: 1, bucket_at: AT, mirrored_at: AT };
const held = { env_id: 'e', key_2: '', absent_at: AT };
const rejected = { run_id: 1, reason: 'no name', payload: '{}', seen_at: AT };
const ended = { cycle_id: 1, started_at: AT, ended_at: AT };

/** An environment in which something is wrong everywhere, and one that is no longer listed. */
function fill({ db }: MirrorFile): void {
  db.update(mirrorTable).set({ quota_limit: 1000, quota_remaining: 7 }).run();
  insert(db, environments, [
    { id: 'e', name: 'E', ...listed },
    { id: 'gone', name: 'G', missing_since: AT, ...listed },
  ]);
  insert(db, syncRuns, [
    { ...ended, status: 'done', requests: 5 },
    { ...ended, status: 'problems', requests: 12, ended_at: '2026-11-20T12:00:01.500000Z' },
    { ...ended, status: 'done', command: 'verify', requests: 1 },
    { ...ended, status: 'running', ended_at: null },
  ]);
  insert(db, syncCheckpoints, { env_id: 'e', stream: 'tests', unavailable: 1 });
  insert(db, assets, [asset('a'), asset('b'), asset('dead', { deleted_at: AT })]);
  insert(db, heldRemovals, ...['a', 'b', 'dead'].map((id) => ({ ...held, stream: 'assets', key_1: id })));
  insert(db, rejectedRows, [
    { ...rejected, env_id: 'e', stream: 'columns', row_key: 'c' },
    { ...rejected, env_id: '', stream: 'environments', row_key: 'f' },
  ]);
  insert(db, tests, [test_('t', { asset_id: 'a' }), test_('off', { disabled: 1 })]);
  const failing = [
    run('1', { status: 'FAIL' }),
    run('2', { status: 'FAIL' }),
    run('3', { status: 'WARN' }),
    run('4', { status: 'ERROR', test_id: 'off' }),
    run('5'),
  ];
  insert(db, latestTestExecutions, failing);
  insert(db, testExecutions, failing);
  const totals = [0.5, 0.75, 0].map((score, i) => ({ ...bucket, asset_id: ['a', 'b', 'dead'][i] ?? '', score }));
  insert(db, assetHealthScores, totals);
  insert(db, assetHealthScoreDimensions, { ...bucket, asset_id: 'a', dimension: 'validity', score: 0.25 });
}

/** The samples but for ages and zeros. */
async function samplesOf(db: string): Promise<string[]> {
  const text = await mirrorMetrics(db, () => readMirrorRows(db, MEASUREMENTS)).text();
  return text.split('\n').filter((line) => /^obsync/.test(line) && !/_age_| 0$/.test(line));
}

const SAMPLES = [
  'obsync_last_run_status{status="problems"} 1',
  'obsync_last_run_timestamp_seconds 1795176001.5',
  'obsync_last_run_requests 12',
  'obsync_quota_limit_requests 1000',
  'obsync_quota_remaining_requests 7',
  'obsync_held_removals{environment="e",stream="assets"} 2',
  'obsync_rejected_rows{environment="e",stream="columns"} 1',
  'obsync_rejected_rows{environment="",stream="environments"} 1',
  'obsync_failing_tests{environment="e",status="WARN"} 1',
  'obsync_failing_tests{environment="e",status="FAIL"} 2',
  'obsync_open_incidents{environment="e"} 3',
  'obsync_health_score{environment="e",dimension="total"} 0.625',
  'obsync_health_score{environment="e",dimension="validity"} 0.25',
  'obsync_mirror_rows{stream="assets"} 2',
  'obsync_mirror_rows{stream="table_assets"} 2',
  'obsync_mirror_rows{stream="tests"} 2',
  'obsync_mirror_rows{stream="latest_test_executions"} 5',
  'obsync_mirror_rows{stream="asset_health_scores"} 3',
  'obsync_mirror_rows{stream="test_executions"} 5',
];

describe('the metrics of a mirror', () => {
  let db = '';
  beforeAll(() => {
    db = mirrorFile(fill);
  });

  test('count what is listed, live and enabled, and the last sync that has ended', async () => {
    expect(await samplesOf(db)).toEqual(SAMPLES);
  });

  test('are the same in PostgreSQL', async () => {
    const schema = await testSchema();
    onTestFinished(schema.drop);
    await copy({ db, to: schema.url });
    expect(await samplesOf(schema.url)).toEqual(SAMPLES);
  });

  test('have a series for what was counted nowhere, so that an alert sees an increase', async () => {
    const text = await mirrorMetrics(db, () => readMirrorRows(db, MEASUREMENTS)).text();
    expect(text).toContain('obsync_held_removals{environment="e",stream="columns"} 0\n');
    expect(text).toContain('obsync_failing_tests{environment="e",status="ERROR"} 0\n');
    expect(text).not.toContain('gone');
  });
});

test('a sync into PostgreSQL writes them to its textfile', async () => {
  const api = await startApiServer({ body: [{ id: 'e1', name: 'E' }] }, { body: EMPTY_PAGE });
  const schema = await testSchema();
  onTestFinished(async () => {
    await api.close();
    await schema.drop();
  });
  const textfile = join(folder(), 'obsync.prom');
  await sync({ baseUrl: api.url, token: 'the-token', db: schema.url, stream: ['assets'], textfile });
  const text = readFileSync(textfile, 'utf8');
  expect(text).toMatch(/^obsync_stream_age_seconds\{environment="e1",stream="assets"\} \d+$/m);
  expect(text).toContain('obsync_last_run_status{status="done"} 1\n');
});

test.each(['does not exist yet', 'has no tables yet'])(
  'a mirror that %s is infinitely old, and creating it is left to a sync',
  async (state) => {
    const db = join(folder(), 'none.db');
    if (state === 'has no tables yet') {
      const connection = new Database(db);
      connection.pragma('journal_mode = WAL');
      connection.close();
    }
    const { text, health } = mirrorMetrics(db, () => readMirrorRows(db, MEASUREMENTS));
    expect(await text()).toMatch(/^obsync_mirror_age_seconds \+Inf$/m);
    expect(await samplesOf(db)).toEqual([]);
    expect(await health(null)).toEqual({ status: 'up', last_sync_age_seconds: null });
    expect(await health(60)).toEqual({ status: 'stale', last_sync_age_seconds: null, oldest_age_seconds: null });
  },
);
