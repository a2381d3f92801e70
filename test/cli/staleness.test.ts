import { expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { syncRuns } from '../../schema/sync.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { saveCheckpoint } from '../support/save-checkpoint.ts';
import { mirrorFile, obsync } from './setup.ts';

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z');

interface Filled {
  readonly status?: 'done' | 'problems' | 'refused' | 'stopped';
  /** The age of the columns in hours; null if they were never read to their end. */
  readonly columns?: number | null;
  readonly isGone?: boolean;
}

function filled({ status = 'done', columns = 1, isGone = false }: Filled) {
  return ({ db }: MirrorFile): void => {
    const at = hoursAgo(1);
    const row = { id: 'e1', name: 'Production', missing_since: isGone ? at : null, mirrored_at: at };
    db.insert(environments).values(row).run();
    db.insert(syncRuns).values({ cycle_id: 1, status, started_at: at, ended_at: at }).run();
    saveCheckpoint(db, 'e1', 'assets', { ...NO_PROGRESS, watermark: at });
    if (columns !== null) saveCheckpoint(db, 'e1', 'columns', { ...NO_PROGRESS, watermark: hoursAgo(columns) });
    saveCheckpoint(db, 'e1', 'tests', { ...NO_PROGRESS, unavailable: true });
    // Read with --history, once.
    saveCheckpoint(db, 'e1', 'test_executions', { ...NO_PROGRESS, watermark: hoursAgo(9) });
  };
}

test.each<[string, Filled, number, RegExp]>([
  ['is young, even if a stream was never live', {}, 0, /^$/],
  ['has an old stream', { columns: 3 }, 1, /^Production columns is 3 h old\n$/],
  ['has an old stream in an environment that is gone', { columns: 3, isGone: true }, 0, /^$/],
  ['had a problem in its last run', { status: 'problems' }, 1, /^run 1, the last one, failed\n$/],
  ['was refused in its last run', { status: 'refused' }, 1, /^run 1, the last one, failed\n$/],
  ['was stopped by its limit of requests', { status: 'stopped' }, 0, /^$/],
])('status --max-age 2h tells by its exit code whether a mirror is stale that %s', async (_, mirror, code, stderr) => {
  const db = mirrorFile(filled(mirror));
  const ended = await obsync(['status', '--db', db, '--max-age', '2h', '--json']);
  expect(ended).toMatchObject({ code, stderr: expect.stringMatching(stderr) });
  expect(JSON.parse(ended.stdout)).toHaveProperty('last_run.run', 1);
  expect(await obsync(['status', '--db', db])).toMatchObject({ code: 0, stderr: '' });
});

test('status --max-age exits 1 for a mirror that was never synced', async () => {
  const ended = await obsync(['status', '--db', mirrorFile(), '--max-age', '90m']);
  expect(ended).toMatchObject({ code: 1, stderr: 'there has been no run yet\n' });
});

test('status --all has no --max-age', async () => {
  const ended = await obsync(['status', '--all', '--max-age', '2h', '--db', 'postgres://h/d']);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--max-age is for one mirror') });
});

test.each(['2', '2 h', 'h', '1w', '-1h', '1e3s', ''])(
  'a duration needs a number and a unit: %j is refused',
  async (age) => {
    const ended = await obsync(['status', '--db', mirrorFile(), `--max-age=${age}`]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--max-age needs') });
  },
);
