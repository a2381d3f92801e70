import { describe, expect, test } from 'vitest';
import { add, addRuns, gone, pluck, type Row, select, useMirror } from './views-setup.ts';

useMirror();

describe('the views of tests', () => {
  const latest = (test_id: string, sub: string, status: string, row: Row = {}) =>
    addRuns([status], { test_id, sub_test_unique_id: sub, ...row }, 'latest_test_executions');

  test('test_status has every sub-test of an enabled test, and NULL for a test without a result', () => {
    add('tests', { id: 't1', disabled: 0, column_name: 'id' }, { id: 't2', disabled: 0 });
    latest('t1', 's1', 'PASS');
    latest('t1', 's2', 'FAIL', { column_name: 'amount' });
    latest('unseen', 's3', 'FAIL');
    expect(
      select('SELECT test_id, sub_test_unique_id sub, status, column_name FROM test_status ORDER BY 1, 2'),
    ).toEqual([
      { test_id: 't1', sub: 's1', status: 'PASS', column_name: 'id' },
      { test_id: 't1', sub: 's2', status: 'FAIL', column_name: 'amount' },
      { test_id: 't2', sub: null, status: null, column_name: null },
    ]);
  });

  test('test_status leaves out disabled tests, and live_tests doesn’t', () => {
    add('tests', { id: 'on', disabled: 0 }, { id: 'off', disabled: 1 }, { id: 'unsaid', disabled: null });
    latest('off', 's', 'FAIL');
    expect(pluck('SELECT test_id FROM test_status ORDER BY 1')).toEqual(['on', 'unsaid']);
    expect(pluck('SELECT id FROM live_tests ORDER BY 1')).toEqual(['off', 'on', 'unsaid']);
    expect(pluck('SELECT test_id FROM failing_tests')).toEqual([]);
  });

  test('failing_tests has WARN, FAIL and ERROR only', () => {
    add('tests', { id: 't', disabled: 0 });
    for (const status of ['PASS', 'WARN', 'FAIL', 'ERROR', 'SKIPPED', 'NO_DATA', 'NEW']) latest('t', status, status);
    expect(pluck('SELECT status FROM failing_tests ORDER BY 1')).toEqual(['ERROR', 'FAIL', 'WARN']);
  });

  test('test_coverage counts each table’s enabled tests and tested columns, even if there are none', () => {
    add('assets', { id: 'a', kind: 'table' }, { id: 'b', kind: 'table' }, { id: 'c', kind: 'bi' });
    add('columns', ...['id', 'amount', 'day'].map((id) => ({ id, name: id, asset_id: 'a' })), {
      id: 'x',
      name: 'x',
      asset_id: 'a',
      ...gone,
    });
    const on = { asset_id: 'a', disabled: 0 };
    add('tests', { id: 't1', ...on, column_name: 'id' }, { id: 't2', ...on, column_name: 'ID' }, { id: 't3', ...on });
    add('tests', { id: 't4', ...on, disabled: 1, column_name: 'day' }, { id: 't5', ...on, column_name: 'x', ...gone });
    latest('t3', 's1', 'PASS', { column_name: 'amount' });
    latest('t3', 's2', 'PASS', { column_name: 'amount' });
    expect(select('SELECT asset_id, test_count, column_count, tested_column_count FROM test_coverage')).toEqual([
      { asset_id: 'a', test_count: 3, column_count: 3, tested_column_count: 2 },
      { asset_id: 'b', test_count: 0, column_count: 0, tested_column_count: 0 },
    ]);
  });

  test('a tested column is a live one of the table, whatever else tests name, and counts once', () => {
    add('assets', { id: 'a', kind: 'table' }, { id: 'b', kind: 'table' });
    add('columns', { id: 'c1', asset_id: 'a', name: 'ID' }, { id: 'c2', asset_id: 'a', name: 'old', ...gone });
    add('columns', { id: 'c3', asset_id: 'b', name: 'other' }, { id: 'c4', asset_id: 'a', name: null });
    const names = ['id', 'old', 'other', 'renamed', null];
    add('tests', ...names.map((column_name, i) => ({ id: `t${i}`, asset_id: 'a', disabled: 0, column_name })));
    for (const sub of ['s1', 's2']) latest('t4', sub, 'PASS', { column_name: 'Id' });
    for (const view of ['test_coverage', 'coverage_by_impact'])
      expect(
        select(`SELECT asset_id, column_count columns, tested_column_count tested FROM ${view} ORDER BY 1`),
      ).toEqual([
        { asset_id: 'a', columns: 2, tested: 1 },
        { asset_id: 'b', columns: 1, tested: 0 },
      ]);
  });
});

describe('the views of runs', () => {
  const incidents = () =>
    select(`SELECT substr(first_start_time, 12, 2) + 0 first, substr(last_start_time, 12, 2) + 0 last, run_count,
      worst_status worst, last_status, substr(resolved_at, 12, 2) + 0 resolved, duration_hours hours
      FROM test_incidents ORDER BY sub_test_unique_id, first_start_time`);

  test('consecutive failing runs of a sub-test are one incident, up to the next PASS', () => {
    addRuns(['PASS', 'WARN', 'ERROR', 'FAIL', 'PASS', 'PASS', 'WARN', 'PASS']);
    expect(incidents()).toEqual([
      { first: 1, last: 3, run_count: 3, worst: 'ERROR', last_status: 'FAIL', resolved: 4, hours: 3 },
      { first: 6, last: 6, run_count: 1, worst: 'WARN', last_status: 'WARN', resolved: 7, hours: 1 },
    ]);
  });

  test('an incident without a later PASS is unresolved and lasts until its last run', () => {
    addRuns(['FAIL', 'PASS', 'FAIL', 'WARN']);
    expect(incidents()[1]).toEqual({
      first: 2,
      last: 3,
      run_count: 2,
      worst: 'FAIL',
      last_status: 'WARN',
      resolved: null,
      hours: 1,
    });
  });

  test('SKIPPED, NO_DATA and unknown statuses neither end an incident nor belong to it', () => {
    addRuns(['SKIPPED', 'FAIL', 'SKIPPED', 'FAIL', 'NO_DATA', 'NEW', 'PASS', 'SKIPPED']);
    expect(incidents()).toEqual([
      { first: 1, last: 3, run_count: 2, worst: 'FAIL', last_status: 'FAIL', resolved: 6, hours: 5 },
    ]);
  });

  test('each sub-test of a test has its own incidents', () => {
    addRuns(['FAIL', 'SKIPPED', 'FAIL'], { sub_test_unique_id: 's1' });
    addRuns(['WARN', 'PASS', 'SKIPPED', 'FAIL'], { sub_test_unique_id: 's2' });
    expect(incidents().map((it) => [it.first, it.run_count, it.resolved])).toEqual([
      [0, 2, null],
      [0, 1, 1],
      [3, 1, null],
    ]);
  });

  test('the duration of an incident is given in seconds and in hours', () => {
    addRuns(['FAIL'], { start_time: '2026-11-20T04:10:00.123456Z' });
    addRuns(['PASS'], { start_time: '2026-11-21T05:40:01.623456Z', id: 'next' });
    expect(select('SELECT duration_seconds, duration_hours FROM test_incidents')).toEqual([
      { duration_seconds: 91801.5, duration_hours: 25.5 },
    ]);
  });

  test('an incident names its test and says whether the test is disabled', () => {
    add('assets', { id: 'a', name: 'orders' });
    add('tests', { id: 't', name: 'not_null', disabled: 1, asset_id: 'a' });
    addRuns(['FAIL']);
    expect(select('SELECT test_name, test_disabled, asset_name FROM test_incidents')).toEqual([
      { test_name: 'not_null', test_disabled: 1, asset_name: 'orders' },
    ]);
  });

  test('the pass rate of a day counts only runs with a verdict, and is NULL without any', () => {
    addRuns(['PASS', 'PASS', 'PASS', 'WARN', 'FAIL', 'ERROR', 'SKIPPED', 'NO_DATA', 'NEW']);
    addRuns(['SKIPPED'], { id: 'next', start_time: '2026-11-21T23:59:59.999999Z' });
    const none = { pass_count: 0, warn_count: 0, fail_count: 0, error_count: 0, pass_rate: null };
    const head = { env_id: 'e', env_name: 'Production' };
    expect(select('SELECT * FROM test_runs_daily ORDER BY day')).toEqual([
      {
        ...head,
        day: '2026-11-20',
        run_count: 9,
        pass_count: 3,
        warn_count: 1,
        fail_count: 1,
        error_count: 1,
        other_count: 3,
        pass_rate: 0.5,
      },
      { ...head, day: '2026-11-21', run_count: 1, other_count: 1, ...none },
    ]);
  });
});
