import { assets, columns, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreHistory, assetHealthScores } from '../../schema/health.ts';
import { testReadings } from '../../schema/histories.ts';
import { mirrorEnvironments, rejectedRows, syncCheckpoints, syncStreamRuns } from '../../schema/sync.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z');

/** Noon of the UTC day this many days ago. */
const daysAgo = (days: number): string => `${day(days)}T12:00:00.000000Z`;

export const day = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

const AT = daysAgo(1);

/**
 * Small enough to count by hand. Of the environment Here, the histories of tests were read:
 *
 * | test | owners | tags | 4 days ago | 3 | 2 | 1 |
 * |---|---|---|---|---|---|---|
 * | joint | ann and bob, by its table `orders` | pii and daily | PASS | FAIL | FAIL | PASS |
 * | own | bob and cat | daily | PASS | FAIL | PASS | FAIL |
 * | single | ann, by its table `items` | pii | PASS | PASS | PASS | FAIL |
 *
 * `joint` tests one of the two columns of `orders`, which was not updated for 200 days. The table `bare` of ann and bob
 * has no test. There was first synced 2 days ago and has no histories; nobody owns its tests `late`, which passed
 * before that, and `old`, which has only failed. Gone is no longer listed; its test failed last. New was never synced.
 * The last run of each environment ended just now, but it is two hours since all of Here was synced, and five since the
 * columns of There were. Scores were first read 2 days ago; they were then one and three days old.
 */
export function fillSmallMirror(db: MirrorFile['db']): void {
  fillEnvironments(db);
  const own = (env_id: string) => ({ env_id, mirrored_at: AT, synced_at: AT });
  const table = (id: string, owners: string | null, schema_name: string | null) => ({
    ...{ ...own('here'), id, name: id, kind: 'table', table_name: id, owners, schema_name },
  });
  db.insert(assets)
    .values([
      { ...table('orders', '["ann","bob"]', 'shop'), updated_at: daysAgo(200) },
      table('items', '["ann"]', 'shop'),
      table('bare', '["ann","bob"]', null),
      { ...table('closed', null, null), env_id: 'gone', updated_at: daysAgo(200) },
    ])
    .run();
  const column = (id: string) => ({ ...own('here'), id, name: id, asset_id: 'orders' });
  db.insert(columns)
    .values([column('id'), column('note')])
    .run();
  const test = (env: string, id: string, asset_id: string | null, lists: Record<string, string> = {}) => ({
    ...{ ...own(env), id, name: id, asset_id, ...lists, disabled: 0 },
  });
  db.insert(tests)
    .values([
      test('here', 'joint', 'orders', { tags: '["pii","daily"]' }),
      test('here', 'own', 'items', { owners: '["bob","cat"]', tags: '["daily"]' }),
      test('here', 'single', 'items', { tags: '["pii"]' }),
      test('there', 'late', null),
      test('there', 'old', null),
      test('gone', 'ceased', 'closed'),
    ])
    .run();
  const run = (env: string, id: string, days: number, status: string) => ({
    ...{ ...own(env), id: `${id}-${days}`, test_id: id, sub_test_unique_id: id, sub_type: 'rows', status },
    // There, all that is older came with the first sync.
    ...(env === 'there' ? { mirrored_at: daysAgo(Math.min(days, 2)) } : {}),
    ...(env === 'gone' ? { mirrored_at: daysAgo(days) } : {}),
    ...{ start_time: daysAgo(days), duration_seconds: 1, column_name: id === 'joint' ? 'id' : null },
  });
  const runsOf = (env: string, id: string, statuses: Readonly<Record<number, string>>) =>
    Object.entries(statuses).map(([days, status]) => run(env, id, Number(days), status));
  const runs = [
    ...runsOf('here', 'joint', { 4: 'PASS', 3: 'FAIL', 2: 'FAIL', 1: 'PASS' }),
    ...runsOf('here', 'own', { 4: 'PASS', 3: 'FAIL', 2: 'PASS', 1: 'FAIL' }),
    ...runsOf('here', 'single', { 4: 'PASS', 3: 'PASS', 2: 'PASS', 1: 'FAIL' }),
    ...runsOf('there', 'late', { 5: 'PASS', 2: 'ERROR', 1: 'ERROR' }),
    ...runsOf('there', 'old', { 2: 'WARN', 1: 'WARN' }),
    ...runsOf('gone', 'ceased', { 6: 'PASS', 5: 'FAIL' }),
  ];
  db.insert(testExecutions).values(runs).run();
  db.insert(latestTestExecutions)
    .values(runs.filter(({ id }) => id.endsWith('-1') || id === 'ceased-5'))
    .run();
  fillScores(db);
}

function fillEnvironments(db: MirrorFile['db']): void {
  const named = (id: string, name: string) => ({ id, name, mirrored_at: AT });
  db.insert(environments)
    .values([
      named('here', 'Here'),
      named('there', 'There'),
      named('new', 'New'),
      { ...named('gone', 'Gone'), missing_since: daysAgo(4) },
    ])
    .run();
  db.insert(mirrorEnvironments)
    .values(['here', 'there', 'gone'].map((env_id) => ({ env_id, mirrored_at: hoursAgo(0) })))
    .run();
  const checkpoint = (env_id: string, stream: string, hours: number | null, unavailable = 0) => ({
    ...{ env_id, stream, watermark: hours === null ? null : hoursAgo(hours), unavailable },
  });
  db.insert(syncCheckpoints)
    .values([
      ...[checkpoint('here', 'assets', 1), checkpoint('here', 'tests', 2)],
      // What some runs read only, and what is not live at the service.
      ...[checkpoint('here', 'test_executions', 90), checkpoint('here', 'asset_health_scores', null, 1)],
      ...[checkpoint('there', 'assets', 0), checkpoint('there', 'columns', 5)],
      checkpoint('gone', 'assets', 2400),
    ])
    .run();
  const streamRun = (env_id: string) => ({
    ...{ run_id: 1, env_id, stream: 'tests', mode: 'feed', reason: 'first', status: 'done' as const },
    ...{ requests: 1, pages: 1, rows_written: 1, rows_deleted: 0, rows_rejected: 0, rows_late: 0 },
    ...{ started_at: AT, ended_at: AT },
  });
  db.insert(syncStreamRuns)
    .values([streamRun('here'), streamRun('gone')])
    .run();
  const rejected = { run_id: 1, stream: 'tests', reason: 'no name', payload: '{}', seen_at: AT };
  db.insert(rejectedRows)
    .values(['here', 'gone'].map((env_id) => ({ ...rejected, env_id, row_key: env_id })))
    .run();
  db.insert(testReadings).values({ env_id: 'here', test_id: 'joint', read_at: AT, mirrored_at: AT }).run();
}

function fillScores(db: MirrorFile['db']): void {
  const score = (asset_id: string, value: number, days = 1) => ({
    ...{ env_id: 'here', mirrored_at: AT, asset_id, test_count: 1, score: value, bucket_at: daysAgo(days) },
  });
  db.insert(assetHealthScores)
    .values([score('orders', 0.9), score('items', 0.4), score('bare', 0.2), { ...score('closed', 0), env_id: 'gone' }])
    .run();
  db.insert(assetHealthScoreHistory)
    .values([
      { ...score('orders', 0.9), dimension: 'total' },
      { ...score('items', 0.4), dimension: 'total' },
      { ...score('items', 0.1, 3), dimension: 'total', mirrored_at: daysAgo(2) },
      { ...score('items', 0.3, 5), dimension: 'freshness', mirrored_at: daysAgo(2) },
    ])
    .run();
}
