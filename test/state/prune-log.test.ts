import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { addDays } from '../../src/core/time/instant.ts';
import { createStatementCache, type PrepareStatement, performAtOnce } from '../../src/destination/sqlite/driver.ts';
import { pruneLog } from '../../state/prune-log.ts';

let connection: Database.Database;
let prepare: PrepareStatement;
beforeEach(() => {
  connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  prepare = createStatementCache(connection);
  migrate(drizzle(connection), { migrationsFolder: new URL('../../schema/migrations', import.meta.url).pathname });
});

const prune = (now: string) => performAtOnce({ connection, prepare }, pruneLog(addDays(now, -90)));
const all = (sql: string) => connection.prepare(sql).all() as Record<string, unknown>[];

describe('pruneLog', () => {
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
