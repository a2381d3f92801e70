import { describe, expect, onTestFinished, test } from 'vitest';
import { openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { lineageOf } from '../../src/page-data/asset-graph.ts';
import { TREND_DAYS } from '../../src/page-data/default-parameters.ts';
import { failingNow } from '../../src/page-data/failing-now.ts';
import type { PageReads } from '../../src/page-data/page-scope.ts';
import { trends } from '../../src/page-data/trends.ts';
import { untestedTables } from '../../src/page-data/untested-tables.ts';
import { NOW } from '../server/fixture.ts';
import { ALL, mirrorOf } from './setup.ts';

/** A reader and a writer of one mirror. */
function changing() {
  const { path } = mirrorOf();
  const [{ connection }, writing] = [openForReading(path), openForWriting(path)];
  const memory = {};
  const statements: string[] = [];
  /** A new state of the same mirror. */
  const reads = (): PageReads => ({
    memory,
    rows({ sql, values }) {
      statements.push(sql);
      return connection.prepare(sql).all(values) as never[];
    },
    texts({ sql, values }) {
      statements.push(sql);
      return connection.prepare(sql).pluck().all(values) as string[];
    },
  });
  const commit = (sql: string) => writing.connection.exec(sql.replaceAll('@now', "'2026-11-20T13:00:00.000000Z'"));
  onTestFinished(() => {
    connection.close();
    writing.connection.close();
  });
  return { reads, commit, statements };
}

const reachedBy = (reads: PageReads, id: string) => lineageOf({ ...ALL, reads }).countDownstream(id).downstream_count;

/** The number of runs of all tests on the last day. */
const lastRuns = (reads: PageReads) =>
  trends({ ...ALL, reads }, { by: null, days: 3 }, NOW).groups[0]?.run_count.at(-1) ?? 0;

describe('the caches that outlive a state of the mirror', () => {
  test('the lineage is read again only after an edge was added or removed', () => {
    const { reads, commit, statements } = changing();
    expect([reachedBy(reads(), 'o3'), reachedBy(reads(), 'o1')]).toEqual([1, 9]);
    const isRead = () => statements.splice(0).some((sql) => sql.includes('order by upstream_asset_id'));
    expect(isRead()).toBe(true);
    commit("update tests set name = 'other', mirrored_at = @now");
    expect([reachedBy(reads(), 'o3'), isRead()]).toEqual([1, false]);
    commit("insert into asset_lineage values ('e', 'odash', 'new', @now, null)");
    expect([reachedBy(reads(), 'o3'), isRead()]).toEqual([2, true]);
    commit("delete from asset_lineage where upstream_asset_id = 'odash'");
    expect([reachedBy(reads(), 'o3'), isRead()]).toEqual([1, true]);
    commit(`delete from asset_lineage where rowid = (select max(rowid) from asset_lineage);
      insert into asset_lineage values ('e', 'odash', 'new', @now, null)`);
    expect([reachedBy(reads(), 'o3'), isRead()]).toEqual([2, true]);
  });

  test('which assets are deleted is never cached across states', () => {
    const { reads, commit } = changing();
    expect(reachedBy(reads(), 'o3')).toBe(1);
    commit("update assets set deleted_at = @now, deletion = 'tombstone', mirrored_at = @now where id = 'odash'");
    expect(reachedBy(reads(), 'o3')).toBe(0);
  });

  test('the tables and the number of columns are read again only after one of them changed', () => {
    const { reads, commit } = changing();
    const counts = () => {
      const found = untestedTables({ ...ALL, reads: reads() }, { limit: 1, offset: 0, all: true });
      return [found.table_count, found.column_count];
    };
    expect(counts()).toEqual([10, 30]);
    commit(
      "update columns set deleted_at = @now, deletion = 'absent', mirrored_at = @now where env_id = 'e' and id = 'm1:id'",
    );
    expect(counts()).toEqual([10, 29]);
    commit(
      "update assets set deleted_at = @now, deletion = 'absent', mirrored_at = @now where env_id = 'e' and id = 'o2'",
    );
    expect(counts()).toEqual([9, 26]);
  });

  test('the tested columns are counted again only if a column or a tested name has changed', () => {
    const { reads, commit, statements } = changing();
    const count = () => {
      statements.length = 0;
      const found = untestedTables({ ...ALL, reads: reads() }, { limit: 1, offset: 0, all: true });
      return [found.tested_column_count, statements.some((sql) => sql.includes('from named'))];
    };
    const [before] = count();
    commit("update latest_test_executions set status = 'WARN', mirrored_at = @now where env_id = 'e'");
    expect(count()).toEqual([before, false]);
    commit(`update latest_test_executions set column_name = 'nowhere', mirrored_at = @now where test_id = 'm1:test';
      update tests set column_name = null, mirrored_at = @now where id = 'm1:test'`);
    expect(count()).toEqual([Number(before) - 1, true]);
    commit("update columns set name = 'nowhere', mirrored_at = @now where env_id = 'e' and id = 'm1:id'");
    expect(count()).toEqual([before, true]);
  });

  test('each reader’s order of failing tests is cached until the mirror’s clock moves', () => {
    const { reads, commit, statements } = changing();
    const ids = "(select v.id from assets v where v.env_id = 'e' and v.id in ('m1', 'm2'))";
    const limited = { ...ALL, limit: { ids, values: {} } };
    const ask = (scope = ALL, offset = 0) => {
      const { total, rows } = failingNow({ ...scope, reads: reads() }, { limit: 2, offset });
      return [total, ...rows.map(({ test_id }) => test_id)];
    };
    const isRead = () => statements.splice(0).some((sql) => sql.includes('select distinct test_id'));
    const [whole, part] = [ask(), ask(limited)];
    expect([isRead(), ask(), ask(limited), ask(ALL, 2).length, isRead()]).toEqual([true, whole, part, 3, false]);
    expect(part).not.toEqual(whole);
    commit(`update latest_test_executions set status = 'PASS', mirrored_at = @now where test_id = '${whole[1]}';
      update mirror_environments set mirrored_at = @now where env_id = 'e'`);
    expect(ask()).not.toContain(whole[1]);
    expect(isRead()).toBe(true);
  });

  test('the groups of tests are read again only after a test or an asset changed', () => {
    const { reads, commit } = changing();
    const names = () =>
      trends({ ...ALL, reads: reads() }, { by: 'owner', days: 30 }, NOW)
        .groups.map(({ name }) => name)
        .toSorted();
    expect(names()).toEqual(['Everybody', 'owner 0', 'owner 1', 'owner 2']);
    commit(`update tests set owners = '["somebody"]', mirrored_at = @now where id = 'm1:test'`);
    expect(names()).toContain('somebody');
    commit(`update assets set owners = '["someone"]', mirrored_at = @now where id = 'm1'`);
    expect(names()).toContain('someone');
  });

  test('the daily mean scores are read again only after a score, an asset or a mean changed', () => {
    const { reads, commit } = changing();
    const mean = (reader = ALL) =>
      trends({ ...reader, reads: reads() }, { by: null, days: 2 }, NOW).health[0]?.scores[0];
    const before = mean();
    commit("update asset_health_scores set mirrored_at = @now where asset_id = 'm1'");
    expect(mean()).toBe(before);
    // The means follow at the end of the run.
    commit(`update asset_health_means set score = 0.5, scores_at = @now where env_id = 'e' and dimension = 'total'`);
    expect(mean()).toBe(0.5);
    const limited = { ...ALL, limit: { ids: "('m1', 'm2')", values: {} } };
    expect(mean(limited)).toBeCloseTo((1 / 3 + 1 / 4) / 2, 10);
    commit(
      "update assets set deleted_at = @now, deletion = 'absent', mirrored_at = @now where env_id = 'e' and id = 'm2'",
    );
    expect(mean(limited)).toBeCloseTo(1 / 3, 10);
  });

  test('a test’s runs are read again only after a new run, or after its results or history were read again', () => {
    const { reads, commit, statements } = changing();
    const counts = () => {
      const [all] = trends({ ...ALL, reads: reads() }, { by: null, days: 3 }, NOW).groups;
      return [all?.run_count.at(-2), all?.run_count.at(-1), all?.pass_rate.at(-2)];
    };
    const readsAll = () => statements.splice(0).some((sql) => sql.includes('from tests t where t.env_id = @env'));
    expect([counts(), readsAll()]).toEqual([[33, 0, 3 / 33], true]);
    commit(`insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
      values ('e', 'm1:test:sub', 'new', 'm1:test', 'rows', 'PASS', '2026-11-20T01:00:00.000000Z', 1, @now)`);
    expect([counts(), readsAll()]).toEqual([[33, 1, 3 / 33], false]);
    // A result that the source has changed in the meantime.
    commit(`update test_executions set status = 'PASS', mirrored_at = @now where id = 'm1:test:9';
      update latest_test_executions set status = 'PASS', mirrored_at = @now where id = 'm1:test:9'`);
    expect(counts()[2]).toBe(4 / 33);
    // An earlier run, returned when its history was read again.
    commit(`update test_executions set status = 'PASS', mirrored_at = @now where id = 'm2:went:9';
      insert into test_readings values ('e', 'm2:went', @now, @now)`);
    expect([counts()[2], readsAll()]).toEqual([5 / 33, false]);
  });

  test('the runs of tests are cached for all periods, in whatever order they are requested', () => {
    const { reads, statements } = changing();
    const ask = (days: number) => trends({ ...ALL, reads: reads() }, { by: null, days }, NOW);
    ask(90);
    statements.splice(0);
    for (const days of [...TREND_DAYS, ...TREND_DAYS]) ask(days);
    expect(statements.filter((sql) => sql.includes('from tests t where t.env_id = @env'))).toEqual([]);
  });

  test('the runs cover exactly the known tests, including tests mirrored after their runs, whoever filled the cache', () => {
    const { reads, commit } = changing();
    /** As a reader with the caches sees them, and as one with empty caches does. */
    const both = () => [lastRuns(reads()), lastRuns({ ...reads(), memory: {} })];
    expect(both()).toEqual([0, 0]);
    commit(`insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
      values ('e', 'later:sub', 'new', 'later', 'rows', 'PASS', '2026-11-20T01:00:00.000000Z', 1, @now);
      update mirror_environments set mirrored_at = @now where env_id = 'e'`);
    expect(both()).toEqual([0, 0]);
    commit(
      `insert into tests (env_id, id, name, mirrored_at) values ('e', 'later', 'later', '2026-11-20T14:00:00.000000Z')`,
    );
    expect(both()).toEqual([1, 1]);
  });

  test.each([
    ['pruning', "update pruned_history set row_count = row_count + 1 where history = 'test_executions'"],
    ['compaction', 'vacuum'],
  ])('runs whose row numbers are used again after %s are counted (R17)', (_, between) => {
    const { reads, commit } = changing();
    const insert = (id: string) =>
      `insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
      select 'e', 's', '${id}', id, 'rows', 'PASS', '2026-11-20T01:00:00.000000Z', 1, @now from tests limit 1;
      update mirror_environments set mirrored_at = @now where env_id = 'e'`;
    commit(
      `${insert('first')}; insert into pruned_history values ('e', 'test_executions', 'delete', null, null, '', 0, @now)`,
    );
    const before = lastRuns(reads());
    commit("delete from test_executions where id = 'first'");
    commit(between);
    commit(insert('second'));
    expect(lastRuns(reads())).toBe(before);
    commit(insert('third'));
    expect(lastRuns(reads())).toBe(before + 1);
  });
});
