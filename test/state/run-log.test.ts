import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { reconcile } from '../../src/core/schedule/environments.ts';
import { addDays } from '../../src/core/time/instant.ts';
import {
  createStatementCache,
  type PrepareStatement,
  perform,
  performAtOnce,
} from '../../src/destination/sqlite/driver.ts';
import { loadEnvironments, saveEnvironments } from '../../state/environment-store.ts';
import { clockOfOneWriter, tick } from '../../state/mirror-clock.ts';
import { beginRun, claimMirror, endRun, joinCycle, pruneLog } from '../../state/run-log.ts';
import type { StateStatements } from '../../state/state-statements.ts';

const T = '2026-11-20T04:10:00.000000Z';

let connection: Database.Database;
let prepare: PrepareStatement;
beforeEach(() => {
  connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  prepare = createStatementCache(connection);
  migrate(drizzle(connection), { migrationsFolder: new URL('../../schema/migrations', import.meta.url).pathname });
  done(claimMirror('https://a.example', 'm.db'));
});

const STANDING = clockOfOneWriter(() => T);

/** Executes the statements in one transaction. */
const done = <Result>(statements: StateStatements<Result>): Result =>
  performAtOnce({ connection, prepare }, statements);

const all = (sql: string) => connection.prepare(sql).all() as Record<string, unknown>[];

const begun = () => {
  const id = done(beginRun(T));
  return { id, cycle: id };
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

describe('the key that signs the cursors of `serve`', () => {
  const key = () => String(all('select cursor_key from mirror')[0]?.['cursor_key']);

  test('it is 32 random bytes in lower-case hex, created with the mirror and never changed', () => {
    const made = key();
    expect(made).toMatch(/^[0-9a-f]{64}$/);
    done(claimMirror('https://a.example', 'm.db'));
    expect(key()).toBe(made);
    connection.exec('delete from mirror');
    done(claimMirror('https://a.example', 'm.db'));
    expect(key()).not.toBe(made);
  });

  test('claiming an existing mirror writes nothing, so a read-only one can be claimed without a key', () => {
    connection.exec('update mirror set cursor_key = null; pragma query_only = 1');
    done(claimMirror('https://a.example', 'm.db'));
    expect(key()).toBe('null');
  });
});

describe('the mirror’s clock (R21)', () => {
  const clocks = () => all('select env_id, mirrored_at from mirror_environments order by env_id');
  const time = () => all("select mirrored_at from mirror_environments where env_id = 'a'")[0]?.['mirrored_at'] ?? '';

  test.each([
    ['the machine’s time if that is later', '2026-11-20T04:10:00.000002Z', '2026-11-20T04:10:00.000002Z'],
    ['the next microsecond if the machine’s is the same', '2026-11-20T04:10:00.000001Z', '2026-11-20T04:10:00.000001Z'],
    ['the next microsecond if the machine’s stands still', T, '2026-11-20T04:10:00.000001Z'],
    ['the next microsecond if the machine’s is behind', '2020-01-01T00:00:00.000000Z', '2026-11-20T04:10:00.000001Z'],
  ])('it moves to %s', (_, clock, moved) => {
    done(
      tick(
        clockOfOneWriter(() => T),
        'a',
      ),
    );
    expect(
      done(
        tick(
          clockOfOneWriter(() => clock),
          'a',
        ),
      ),
    ).toBe(moved);
    expect(time()).toBe(moved);
  });

  test('an environment’s clock moves alone, past every other, because a reader may have started there', () => {
    const later = '2026-11-21T00:00:00.000000Z';
    done(
      tick(
        clockOfOneWriter(() => later),
        'a',
      ),
    );
    done(
      tick(
        clockOfOneWriter(() => T),
        'b',
      ),
    );
    expect(clocks()).toEqual([
      { env_id: 'a', mirrored_at: later },
      { env_id: 'b', mirrored_at: later.replace('000Z', '001Z') },
    ]);
  });

  test('the end of a run and saving environments move every environment’s clock, and new ones get one', () => {
    done(
      tick(
        clockOfOneWriter(() => T),
        'gone',
      ),
    );
    done(saveEnvironments(reconcile([{ id: 'new', name: 'New' }], [], T), STANDING));
    const at = (microseconds: number) => T.replace('000Z', `00${microseconds}Z`);
    const both = (mirrored_at: string) => ['gone', 'new'].map((env_id) => ({ env_id, mirrored_at }));
    expect(clocks()).toEqual(both(at(1)));
    done(endRun(begun(), { ...ended, status: 'done' }, STANDING));
    expect(clocks()).toEqual(both(at(2)));
  });

  test('each save of environments and each end of a run gives it a new, later value', () => {
    const times = [time()];
    for (const status of ['done', 'problems', 'stopped', 'interrupted', 'refused'] as const) {
      done(saveEnvironments(reconcile([{ id: 'a', name: 'A' }], [], T), STANDING));
      times.push(time());
      done(endRun(begun(), { ...ended, status }, STANDING));
      times.push(time());
    }
    expect(new Set(times).size).toBe(11);
    expect([...times].sort()).toEqual(times);
  });

  test('it moves at the end of a run only if that end is recorded', () => {
    done(
      tick(
        clockOfOneWriter(() => T),
        'a',
      ),
    );
    const run = begun();
    connection.exec(
      "create trigger broken before update of status on sync_runs begin select raise(abort, 'broken'); end",
    );
    expect(() => done(endRun(run, { ...ended, status: 'done' }, STANDING))).toThrow();
    expect([time(), all('select status from sync_runs')]).toEqual([T, [{ status: 'running' }]]);
  });
});

describe('joinCycle (R6)', () => {
  const NAMES = ['assets', 'columns', 'tests'] as const;

  test('it finds the cycle by an index, without reading the log', () => {
    const plans: string[] = [];
    const watched: PrepareStatement = (name, text = () => name) => {
      const unbound = connection.prepare(`explain query plan ${text().replaceAll('?', "''")}`);
      plans.push(...(unbound.all() as { detail: string }[]).map(({ detail }) => detail));
      return prepare(name, text);
    };
    const id = done(beginRun(T));
    perform(
      watched,
      joinCycle({ id, envIds: ['a', 'b'], streams: NAMES, selected: NAMES, now: T, full: false, fullEvery: 'auto' }),
    );
    expect(plans.filter((step) => / s( |$)/.test(step))).toEqual([
      expect.stringContaining('sync_stream_runs_by_stream'),
    ]);
    const scanned = plans.filter((step) => step.startsWith('SCAN'));
    expect(scanned.filter((step) => !/^SCAN (e|n|v|\d+ CONSTANT ROWS?)$/.test(step))).toEqual([]);
  });
});

describe('saveEnvironments', () => {
  const save = (items: readonly unknown[], clock = T) =>
    done(
      saveEnvironments(
        reconcile(items, done(loadEnvironments()), T),
        clockOfOneWriter(() => clock),
      ),
    );
  const env = (id: string) => ({ id, name: `Env ${id}` });

  test('changed environments are written at the mirror’s own time, which never runs backwards (R21)', () => {
    save([env('a')]);
    save([env('a'), env('b')], '2020-01-01T00:00:00.000000Z');
    expect(all('select id, mirrored_at from environments')).toEqual([
      { id: 'a', mirrored_at: T },
      { id: 'b', mirrored_at: T.replace('000Z', '001Z') },
    ]);
  });
});

describe('pruneLog', () => {
  const prune = (now: string) => done(pruneLog(addDays(now, -90)));
  const NOW = '2026-11-20T00:00:00.000000Z';
  const OLD = '2026-08-20T00:00:00.000000Z';
  const YOUNG = '2026-08-23T00:00:00.000000Z';
  const add = (id: number, at: string, streams: readonly string[], status = 'problems') => {
    connection.exec(`insert into sync_runs (id, cycle_id, status, started_at, server_time)
      values (${id}, ${id}, '${status}', '1999-01-01', ${at === '' ? 'null' : `'${at}'`})`);
    for (const stream of streams)
      connection.exec(`insert into sync_stream_runs values (${id}, 'a', '${stream}', 'feed', 'increment', 'done',
        2, 2, 0, 0, 0, 0, '${NOW}', '${NOW}', null)`);
  };
  const kept = () => [
    all('select id from sync_runs').map((row) => row['id']),
    all('select run_id, stream from sync_stream_runs order by 1, 2').map((row) => `${row['run_id']} ${row['stream']}`),
  ];

  test('it keeps 90 days of server time, and at least the last entry of each stream', () => {
    add(1, OLD, ['assets', 'tests']);
    add(2, OLD, ['assets', 'columns']);
    add(3, YOUNG, ['assets']);
    prune(NOW);
    expect(kept()).toEqual([[3], ['1 tests', '2 columns', '3 assets']]);
  });

  test('it keeps the last successful run, however old', () => {
    add(1, OLD, [], 'done');
    add(2, OLD, [], 'done');
    add(3, OLD, []);
    prune(NOW);
    expect(kept()).toEqual([[2], []]);
  });

  test('it removes a few of the oldest runs at a time', () => {
    for (let id = 1; id <= 25; id++) add(id, OLD, []);
    const left = [15, 5, 0].map((count) => {
      prune(NOW);
      return [all('select count(*) as n from sync_runs')[0]?.['n'], count];
    });
    expect(left.map(([found]) => found)).toEqual(left.map(([, count]) => count));
  });

  test('it keeps a run without server time until its machine time is too old', () => {
    add(1, '', ['assets']);
    add(2, YOUNG, ['assets']);
    prune('1999-03-01T00:00:00.000000Z');
    expect(kept()[0]).toEqual([1, 2]);
    prune(NOW);
    expect(kept()[0]).toEqual([2]);
  });
});
