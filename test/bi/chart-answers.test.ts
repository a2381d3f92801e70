import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { assetLineage, assets, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreHistory } from '../../schema/health.ts';
import { mirrorEnvironments } from '../../schema/sync.ts';
import { SQLITE } from '../../src/bi/chart-dialect.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { folder } from '../cli/setup.ts';
import { queries } from './setup.ts';

/** Noon of the UTC day this many days ago: charts count days, whatever the hour. */
const daysAgo = (days: number): string => {
  const day = new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  return `${day}T12:00:00.000000Z`;
};

const AT = daysAgo(1);
const own = { env_id: 'here', mirrored_at: AT, synced_at: AT };

/**
 * Two environments, one of which has not been listed for long. A table with tests, one without, and two that read it; a
 * test without an asset, a disabled one, and one whose flag is NULL. Runs fail on old and on recent days.
 */
function smallMirror(): MirrorFile {
  const mirror = openForWriting(join(folder(), 'm.db'));
  onTestFinished(() => void mirror.connection.close());
  const { db } = mirror;
  db.insert(environments)
    .values([
      { id: 'here', name: 'Here', mirrored_at: AT },
      { id: 'gone', name: 'Gone', mirrored_at: AT, missing_since: daysAgo(100) },
    ])
    .run();
  db.insert(mirrorEnvironments)
    .values([
      { env_id: 'here', mirrored_at: new Date(Date.now() - 7_200_000).toISOString() },
      { env_id: 'gone', mirrored_at: daysAgo(100) },
    ])
    .run();
  const table = (id: string, owners: string | null) => ({
    ...own,
    id,
    name: id,
    kind: 'table',
    table_name: id,
    owners,
  });
  db.insert(assets)
    .values([table('tested', '["ann"]'), table('untested', null), table('reader', null)])
    .run();
  db.insert(assetLineage)
    .values([
      { env_id: 'here', mirrored_at: AT, upstream_asset_id: 'tested', downstream_asset_id: 'untested' },
      { env_id: 'here', mirrored_at: AT, upstream_asset_id: 'untested', downstream_asset_id: 'reader' },
    ])
    .run();
  db.insert(tests)
    .values([
      { ...own, id: 'enabled', name: 'enabled', asset_id: 'tested', disabled: 0, owners: '["bob"]' },
      { ...own, id: 'unknown', name: 'unknown', asset_id: 'tested', disabled: null },
      { ...own, id: 'disabled', name: 'disabled', asset_id: 'tested', disabled: 1 },
      { ...own, id: 'homeless', name: 'homeless', asset_id: null, disabled: 0 },
    ])
    .run();
  const run = (test: string, days: number, status: string) => ({
    ...own,
    id: `${test}-${days}`,
    test_id: test,
    sub_test_unique_id: test,
    sub_type: 'rows',
    status,
    start_time: daysAgo(days),
    duration_seconds: 1,
  });
  const failing = ['enabled', 'unknown', 'disabled', 'homeless'].map((id) => run(id, 0, 'FAIL'));
  db.insert(latestTestExecutions).values(failing).run();
  db.insert(testExecutions)
    .values([
      ...failing,
      ...[run('enabled', 90, 'FAIL'), run('enabled', 89, 'PASS'), run('enabled', 7, 'PASS')],
      ...[run('enabled', 6, 'PASS'), run('enabled', 5, 'PASS')],
      ...[run('homeless', 89, 'FAIL'), run('homeless', 88, 'PASS')],
    ])
    .run();
  const score = (days: number, value: number) => ({
    ...{ env_id: 'here', mirrored_at: AT, asset_id: 'tested', dimension: 'total', test_count: 1 },
    score: value,
    bucket_at: daysAgo(days),
  });
  db.insert(assetHealthScoreHistory)
    .values([score(90, 0.1), score(89, 0.2), score(0, 0.9)])
    .run();
  return mirror;
}

const day = (days: number): string => daysAgo(days).slice(0, 10);

test('the results of the charts are right for a mirror small enough to count by hand', () => {
  const { connection } = smallMirror();
  const answer = (id: string): unknown[] => {
    const sql = queries(SQLITE).find(([each]) => each === id)?.[2] ?? '';
    return connection.prepare(sql).raw().all();
  };
  // The environment that is no longer listed does not age the mirror.
  const [[hours]] = answer('mirror-age') as [[number]];
  expect(Math.round(hours)).toBe(2);
  // Counts of current failures leave out disabled tests, and a test without an asset adds no asset.
  expect(answer('failing-tests')).toEqual([[3]]);
  expect(answer('failing-assets')).toEqual([[1]]);
  expect(answer('failing-by-owners')).toEqual([
    ['ann', 1],
    ['bob', 1],
    ['no owner', 1],
  ]);
  expect(answer('untested-tables').map((row) => (row as unknown[]).slice(2))).toEqual([
    ['untested', null, 0, 1],
    ['reader', null, 0, 0],
  ]);
  // Today counts as one of the 7 and of the 90 days.
  expect(answer('pass-rate')).toEqual([[2 / 6]]);
  expect(answer('pass-rate-daily')).toEqual([
    [day(89), 'Here', 0.5],
    [day(88), 'Here', 1],
    [day(7), 'Here', 1],
    [day(6), 'Here', 1],
    [day(5), 'Here', 1],
    [day(0), 'Here', 0],
  ]);
  expect(answer('health-daily')).toEqual([
    [day(89), 'total', 0.2],
    [day(0), 'total', 0.9],
  ]);
  expect(answer('incidents-daily')).toEqual([
    [day(89), 'FAIL', 1],
    [day(0), 'FAIL', 4],
  ]);
  // One open incident belongs to a disabled test. The list by owner includes it, and its column name says so.
  expect(answer('open-incidents')).toEqual([[3]]);
  expect(answer('open-incidents-list').map((row) => (row as unknown[])[2])).toEqual(['enabled', 'homeless', 'unknown']);
  const [, byOwner] = queries(SQLITE).find(([id]) => id === 'incidents-by-owner') ?? [];
  expect(byOwner?.columns.map(({ name }) => name)).toContain('open_with_disabled');
  expect(byOwner?.question).toContain('Includes disabled tests');
  expect(answer('incidents-by-owner').map((row) => (row as unknown[]).slice(1, 5))).toEqual([
    ['ann', 2, 2, 0],
    [null, 2, 1, 1],
    ['bob', 2, 1, 1],
  ]);
});
