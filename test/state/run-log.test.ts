import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { LeftOver } from '../../src/core/cycle.ts';
import { reconcile } from '../../src/core/environments.ts';
import type { RunStatus, StreamRun } from '../../src/core/state-store.ts';
import { saveCheckpoint } from '../../state/checkpoint-store.ts';
import { loadEnvironments, saveEnvironments } from '../../state/environment-store.ts';
import { tick } from '../../state/mirror-clock.ts';
import {
  beginRun,
  claimMirror,
  endRun,
  fillCursorKey,
  joinCycle,
  loadLastTries,
  recordStreamRun,
} from '../../state/run-log.ts';

const T = '2026-11-20T04:10:00.000000Z';

let connection: Database.Database;
let db: BetterSQLite3Database;
beforeEach(() => {
  connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  db = drizzle(connection);
  migrate(db, { migrationsFolder: new URL('../../schema/migrations', import.meta.url).pathname });
  claimMirror(db, 'https://a.example');
});

const all = (sql: string) => connection.prepare(sql).all() as Record<string, unknown>[];

test('a mirror belongs to the base URL that first wrote it; another is refused (R26)', () => {
  claimMirror(db, 'https://a.example');
  expect(() => claimMirror(db, 'https://b.example')).toThrow(
    expect.objectContaining({ recovery: 'usage', message: expect.stringContaining('https://a.example') }),
  );
  expect(all('select base_url from mirror')).toEqual([{ base_url: 'https://a.example' }]);
});

const begun = () => {
  const id = beginRun(db, T);
  return { id, pass: id };
};

const ended = {
  server_time: T,
  ended_at: T,
  requests: 1,
  rows_written: 0,
  rows_deleted: 0,
  rows_rejected: 0,
  error: null,
};

describe('the key for the cursors of `serve`', () => {
  const key = () => String(all('select cursor_key from mirror')[0]?.['cursor_key']);

  test('is 32 random bytes as lower-case hex, made with the mirror and never again', () => {
    const made = key();
    expect(made).toMatch(/^[0-9a-f]{64}$/);
    claimMirror(db, 'https://a.example');
    fillCursorKey(db);
    expect(key()).toBe(made);
    connection.exec('delete from mirror');
    claimMirror(db, 'https://a.example');
    expect(key()).not.toBe(made);
  });

  test('is made for a mirror from before there were keys', () => {
    connection.exec('update mirror set cursor_key = null');
    fillCursorKey(db);
    expect(key()).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is not made by a claim, which writes nothing to a mirror that there is: one opened for reading alone can be claimed', () => {
    connection.exec('update mirror set cursor_key = null; pragma query_only = 1');
    claimMirror(db, 'https://a.example');
    expect(key()).toBe('null');
  });
});

describe('the mirror’s clock (R21)', () => {
  const time = () => all('select mirrored_at from mirror')[0]?.['mirrored_at'];

  test.each([
    ['the machine’s where that is later', '2026-11-20T04:10:00.000002Z', '2026-11-20T04:10:00.000002Z'],
    ['the next microsecond where that is the same', '2026-11-20T04:10:00.000001Z', '2026-11-20T04:10:00.000001Z'],
    ['the next microsecond where the machine’s stands still', T, '2026-11-20T04:10:00.000001Z'],
    [
      'the next microsecond where the machine’s is behind',
      '2020-01-01T00:00:00.000000Z',
      '2026-11-20T04:10:00.000001Z',
    ],
  ])('moves to %s', (_, clock, moved) => {
    tick(db, () => T);
    expect(tick(db, () => clock)).toBe(moved);
    expect(time()).toBe(moved);
  });

  test('moves with every save of environments and at the end of every run, to a value of its own', () => {
    const times = [time()];
    for (const status of ['done', 'problems', 'stopped', 'interrupted', 'refused'] as const) {
      saveEnvironments(db, reconcile([], [], T), { id: 1, clock: () => T });
      times.push(time());
      endRun(db, { ...begun(), clock: () => T }, { ...ended, status });
      times.push(time());
    }
    expect(new Set(times).size).toBe(11);
    expect([...times].sort()).toEqual(times);
  });

  test('moves at the end of a run only if that is noted', () => {
    const run = begun();
    connection.exec(
      "create trigger broken before update of status on sync_runs begin select raise(abort, 'broken'); end",
    );
    expect(() => endRun(db, { ...run, clock: () => T }, { ...ended, status: 'done' })).toThrow();
    expect([time(), all('select status from sync_runs')]).toEqual(['', [{ status: 'running' }]]);
  });
});

describe('a cycle (R6)', () => {
  const streamRun = {
    stream: 'assets',
    mode: 'scan',
    reason: 'first',
    status: 'done',
    requests: 1,
    pages: 1,
    rows_written: 0,
    rows_deleted: 0,
    rows_rejected: 0,
    rows_late: 0,
    started_at: T,
    ended_at: T,
    error: null,
  } as const;
  interface Wish {
    environments?: readonly string[];
    now?: string;
    full?: boolean;
    streams?: readonly Partial<StreamRun>[];
  }
  const run = (
    status: RunStatus | null,
    left_over: LeftOver | null = null,
    { environments = ['a'], now = T, full = false, streams = [{}] }: Wish = {},
  ) => {
    const joined = joinCycle(db, { id: beginRun(db, T), envIds: environments, streams: NAMES, now, full });
    for (const env_id of environments)
      for (const stream of streams) recordStreamRun(db, { ...streamRun, ...stream, run_id: joined.id, env_id });
    const server_time = now;
    if (status !== null) endRun(db, { ...joined, clock: () => T }, { ...ended, status, left_over, server_time });
    return joined;
  };
  const NAMES = ['assets', 'columns', 'tests'] as const;

  test('is a run’s own, and is carried on only after a run whose requests or quota were spent', () => {
    const runs = [
      ['done', null],
      ['stopped', 'unread'],
      ['problems', 'unread'],
      ['problems', null],
      ['interrupted', null],
      ['refused', null],
      [null, null],
      ['done', null],
    ] as const;
    expect(runs.map(([status, leftOver]) => run(status, leftOver).pass)).toEqual([1, 2, 2, 2, 5, 6, 7, 8]);
    expect(all('select pass_id from sync_runs order by id').map((row) => row['pass_id'])).toEqual([
      1, 2, 2, 2, 5, 6, 7, 8,
    ]);
  });

  test('of one environment outlives the runs of others', () => {
    run('stopped', 'unread', { environments: ['a'] });
    expect(run('done', null, { environments: ['b'] }).pass).toBe(2);
    expect(run('done', null, { environments: ['a'] }).pass).toBe(1);
    expect(run('done', null, { environments: ['a', 'b'] }).pass).toBe(4);
  });

  test('ends with a run that leaves nothing, though that logged no stream', () => {
    run('stopped', 'unread');
    expect(run('done', null, { streams: [] }).pass).toBe(1);
    expect(run('done').pass).toBe(3);
  });

  test('of --full is carried on by --full, but no longer once a run without it went on with it', () => {
    run('stopped', 'unread', { full: true });
    expect(run('stopped', 'unread', { full: true }).pass).toBe(1);
    expect(run('stopped', 'unread').pass).toBe(1);
    expect(run('stopped', 'unread', { full: true })).toMatchObject({ pass: 4, afterStop: true });
  });

  test('is carried on for a day at most, from its first run on', () => {
    run('stopped', 'unread', { now: '2026-11-20T04:00:00.000000Z' });
    expect(run('stopped', 'unread', { now: '2026-11-20T23:00:00.000000Z' }).pass).toBe(1);
    expect(run('stopped', 'unread', { now: '2026-11-21T04:00:01.000000Z' })).toMatchObject({
      pass: 3,
      afterStop: true,
    });
  });

  test('the last try of each stream is known, where it did not end well', () => {
    const triesBefore = (id: number) => loadLastTries(db, { id, envIds: ['a', 'b'], streams: NAMES }).get('a');
    run('stopped', 'unread', { streams: [{ status: 'failed' }, { stream: 'tests', status: 'stopped' }] });
    run('stopped', 'unread', { streams: [{ stream: 'tests' }, { stream: 'columns', status: 'stopped', pages: 0 }] });
    expect(triesBefore(3)).toEqual([
      { stream: 'assets', status: 'failed', requests: 1, pages: 1 },
      { stream: 'columns', status: 'stopped', requests: 1, pages: 0 },
    ]);
    run('done', null, { streams: [{}, { stream: 'columns' }] });
    expect(triesBefore(4)).toBeUndefined();
    expect(triesBefore(2)).toHaveLength(2);
  });

  test('is looked up by index: the log is not read, however long it is', () => {
    const plans: string[] = [];
    const watched = drizzle(connection, {
      logger: {
        logQuery: (query, values) => {
          const steps = connection.prepare(`explain query plan ${query}`).all(...values) as { detail: string }[];
          plans.push(...steps.map(({ detail }) => detail));
        },
      },
    });
    joinCycle(watched, { id: beginRun(db, T), envIds: ['a'], streams: NAMES, now: T, full: false });
    expect(plans.filter((step) => / s( |$)/.test(step))).toEqual([
      expect.stringContaining('sync_stream_runs_by_stream'),
    ]);
    expect(plans.filter((step) => /^SCAN/.test(step) && !step.includes('VIRTUAL TABLE'))).toEqual([]);
  });

  test('a stream that did nothing and ended as it had before gets no row, one that ended otherwise does', () => {
    const idle = { requests: 0, pages: 0 };
    run('done', null, { streams: [{ status: 'done', ...idle }] });
    run('done', null, { streams: [{ status: 'done', ...idle }] });
    run('done', null, { streams: [{ status: 'held', ...idle, error: 'removals are held back' }] });
    run('done', null, { streams: [{ status: 'held', ...idle, error: 'removals are held back' }] });
    run('done', null, { streams: [{ status: 'done', ...idle }] });
    run('done', null, { streams: [{ status: 'done', ...idle, rows_deleted: 1 }] });
    expect(all('select run_id from sync_stream_runs').map((row) => row['run_id'])).toEqual([1, 3, 4, 5, 6]);
  });
});

describe('environments', () => {
  const save = (items: readonly unknown[], clock = T, id = 1) =>
    saveEnvironments(db, reconcile(items, loadEnvironments(db), T), { id, clock: () => clock });
  const env = (id: string) => ({ id, name: `Env ${id}` });

  test('are kept when they are no longer listed, and every stream scanned of one that is back is due for a scan (R13)', () => {
    for (const id of ['a', 'b']) saveCheckpoint(db, id, 'assets', { ...NO_PROGRESS, scanEndedPass: 1 });
    saveCheckpoint(db, 'a', 'asset_health_scores', { ...NO_PROGRESS, finishedPass: 1 });
    save([env('a'), env('b')]);
    save([env('b')]);
    expect(all('select id, missing_since from environments')).toEqual([
      { id: 'a', missing_since: T },
      { id: 'b', missing_since: null },
    ]);
    save([env('a'), env('b')]);
    expect(loadEnvironments(db).map((row) => row['missing_since'])).toEqual([null, null]);
    expect(all('select env_id, stream from sync_checkpoints where scan_due is not null')).toEqual([
      { env_id: 'a', stream: 'assets' },
    ]);
  });

  test('are written at the mirror’s own time, which never runs backwards, and only when they change (R21)', () => {
    save([env('a')]);
    save([env('a'), env('b')], '2020-01-01T00:00:00.000000Z');
    expect(all('select id, mirrored_at from environments')).toEqual([
      { id: 'a', mirrored_at: T },
      { id: 'b', mirrored_at: T.replace('000Z', '001Z') },
    ]);
  });

  test('that cannot be read are rejected once each, and leave when they can (R20)', () => {
    save([{ id: 'a' }]);
    save([{ id: 'a' }, 7], T, 2);
    expect(all('select row_key, reason, run_id from rejected_rows order by row_key')).toEqual([
      { row_key: '7', reason: 'not an object', run_id: 2 },
      { row_key: 'a', reason: 'name is missing', run_id: 2 },
    ]);
    save([env('a')]);
    expect(all('select * from rejected_rows')).toEqual([]);
  });
});
