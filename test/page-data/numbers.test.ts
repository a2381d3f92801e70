import { describe, expect, test } from 'vitest';
import { assets, columns } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { assetColumns, assetDetail } from '../../src/page-data/asset-detail.ts';
import { failingNow } from '../../src/page-data/failing-now.ts';
import { trends } from '../../src/page-data/trends.ts';
import { untestedTables } from '../../src/page-data/untested-tables.ts';
import { asset, column, insert, insertMany, NOW, run, test_ } from '../server/fixture.ts';
import { mirrorOf } from './setup.ts';

const WHOLE = { limit: 1000, offset: 0 };

const numbered = (count: number) => Array.from({ length: count }, (_, i) => String(i).padStart(3, '0'));

/** Results of a test of asset `x`, one per sub-test, in the order of their names. */
function fillResults({ db }: MirrorFile, test: string, statuses: readonly string[]): void {
  insert(db, tests, test_(test, { asset_id: 'x', column_name: 'id', test_type: 'type' }));
  for (const [i, status] of statuses.entries())
    insert(db, latestTestExecutions, {
      ...run(`${test}:${i}`, { test_id: test, sub_test_unique_id: `${test}:sub ${i}`, status }),
      ...{ column_name: `Column_${i}`, start_time: `2026-11-19T0${9 - i}:00:00.000000Z` },
    });
}

const withAsset = (fill: (writing: MirrorFile) => void) =>
  mirrorOf((writing) => {
    insert(writing.db, assets, asset('x'));
    fill(writing);
  });

describe('the tests in an asset’s details', () => {
  test('a test has the worst status and the latest time of its sub-tests, in any order', () => {
    const { seen } = withAsset((writing) => {
      fillResults(writing, 'first', ['ERROR', 'FAIL', 'PASS']);
      fillResults(writing, 'last', ['PASS', 'WARN', 'FAIL']);
      fillResults(writing, 'middle', ['PASS', 'WARN', 'PASS']);
      fillResults(writing, 'no verdict', ['SKIPPED', 'PASS', 'NO_DATA']);
      fillResults(writing, 'never', []);
    });
    const detail = seen((scope) => assetDetail(scope, { id: 'x' }));
    expect(detail?.tests?.map(({ test_id, status }) => [test_id, status])).toEqual([
      ['first', 'ERROR'],
      ['last', 'FAIL'],
      ['middle', 'WARN'],
      ['no verdict', 'PASS'],
      ['never', null],
    ]);
    expect(detail?.tests?.[1]?.start_time).toBe('2026-11-19T09:00:00.000000Z');
  });

  test('at most 200 tests are shown, but all are counted', () => {
    const { seen } = withAsset((writing) => {
      for (const n of numbered(201)) fillResults(writing, n, ['PASS']);
    });
    const detail = seen((scope) => assetDetail(scope, { id: 'x' }));
    expect([detail?.tests?.length, detail?.test_count]).toEqual([200, 201]);
  });
});

describe('the tests that do not fail', () => {
  const others = (fill: (writing: MirrorFile) => void) =>
    withAsset(fill).seen((scope) => failingNow(scope, WHOLE)).others;

  test('are counted by whether they passed or have no verdict, whatever the reason', () => {
    const found = others((writing) => {
      fillResults(writing, 'judged', ['PASS', 'PASS', 'SKIPPED', 'NO_DATA', 'ODD']);
      fillResults(writing, 'never ran', []);
      fillResults(writing, 'off', ['PASS']);
      writing.connection.exec("update tests set disabled = 1 where id = 'off'");
    });
    expect(found).toEqual({ passed: 2, without_verdict: 4 });
  });

  test('are not counted while one fails', () => {
    expect(others((writing) => fillResults(writing, 'one', ['PASS', 'WARN']))).toBeNull();
  });

  test('are those that the reader sees', () => {
    const { seen } = withAsset((writing) => fillResults(writing, 'one', ['PASS']));
    const limit = { ids: "(select v.id from assets v where v.id = 'other')", values: {} };
    expect(seen((scope) => failingNow({ ...scope, limit }, WHOLE)).others).toEqual({ passed: 0, without_verdict: 0 });
  });
});

describe('assetColumns', () => {
  const parts = (names: readonly string[], fill: (writing: MirrorFile) => void = () => undefined) =>
    withAsset((writing) => {
      for (const name of names) insert(writing.db, columns, column(`x:${name}`, { asset_id: 'x', name }));
      fill(writing);
    });

  test('a column has the number of enabled tests whose results name it, in any case', () => {
    const { seen, rows } = parts(['COLUMN_0', 'column_1', 'column_2'], (writing) => {
      fillResults(writing, 'one', ['PASS', 'FAIL']);
      fillResults(writing, 'two', ['PASS']);
      fillResults(writing, 'off', ['PASS', 'PASS', 'PASS']);
      writing.connection.exec("update tests set disabled = 1 where id = 'off'");
    });
    const found = seen((scope) => assetColumns(scope, { asset_id: 'x', offset: 0 }));
    expect(found?.rows.map((row) => [row.name, row.tests])).toEqual([
      ['COLUMN_0', 2],
      ['column_1', 1],
      ['column_2', 0],
    ]);
    const [coverage] = rows('select tested_column_count as tested from coverage_by_impact');
    expect(coverage?.['tested']).toBe(found?.rows.filter((row) => row.tests !== 0).length);
  });

  test('a name in tests that is no live column of the table does not count as a tested column', () => {
    const { seen } = parts(['column_0', 'column_1'], (writing) => {
      fillResults(writing, 'one', ['PASS', 'FAIL', 'PASS']);
      writing.connection.exec(`update columns set deleted_at = '${NOW}', deletion = 'absent' where name = 'column_1'`);
    });
    const { column_count, tested_column_count } = seen((scope) => untestedTables(scope, { ...WHOLE, all: true }));
    expect([column_count, tested_column_count]).toEqual([1, 1]);
  });

  test('only columns of live tables are counted, not those of an asset that the mirror does not have', () => {
    const { seen } = parts(['one'], ({ db }) => {
      insert(db, assets, asset('no kind', { kind: null }), asset('board', { kind: 'bi' }));
      insert(db, assets, asset('gone', { deleted_at: NOW, deletion: 'absent' }));
      for (const asset_id of ['no kind', 'board', 'gone', 'unseen', null])
        insert(db, columns, column(`${asset_id}:a`, { asset_id, name: 'a' }));
      insert(db, columns, column('x:b', { asset_id: 'x', deleted_at: NOW, deletion: 'absent' }));
    });
    expect(seen((scope) => untestedTables(scope, { ...WHOLE, all: true })).column_count).toBe(1);
  });

  test('columns are returned 200 at a time, but all are counted', () => {
    const { seen } = parts(numbered(201));
    const part = (offset: number) => seen((scope) => assetColumns(scope, { asset_id: 'x', offset }));
    expect([part(0)?.rows.length, part(0)?.total, part(200)?.rows.map(({ name }) => name)]).toEqual([
      200,
      201,
      ['200'],
    ]);
  });
});

describe('a failing sub-test', () => {
  test('it has its last 30 runs, oldest first, however many other sub-tests its test has', () => {
    const { seen } = withAsset((writing) => {
      fillResults(writing, 't', ['FAIL', 'FAIL']);
      for (const [i, n] of numbered(70).entries())
        insert(
          writing.db,
          testExecutions,
          run(`t:run ${n}`, {
            ...{ test_id: 't', sub_test_unique_id: `t:sub ${i % 2}`, status: i === 11 ? 'PASS' : 'FAIL' },
            start_time: `2026-11-18T00:00:00.000${n}Z`,
          }),
        );
    });
    const { rows } = seen((scope) => failingNow(scope, WHOLE));
    const [even, odd] = ['t:sub 0', 't:sub 1'].map((id) => rows.find((row) => row.sub_test_unique_id === id)?.history);
    expect([even?.length, odd?.length]).toEqual([30, 30]);
    expect([even?.[0], odd?.[0], odd?.at(-1)]).toEqual([
      { start_time: '2026-11-18T00:00:00.000010Z', status: 'FAIL' },
      { start_time: '2026-11-18T00:00:00.000011Z', status: 'PASS' },
      { start_time: '2026-11-18T00:00:00.000069Z', status: 'FAIL' },
    ]);
  });
});

describe('the flag that an answer was cut', () => {
  const hub = (width: number) =>
    withAsset((writing) => {
      fillResults(writing, 't', ['FAIL']);
      insertMany(writing, 'asset_lineage', width, { upstream_asset_id: "'x'", downstream_asset_id: 'i' });
    });

  test.each([
    [9999, false],
    [10_001, true],
  ])('with %i assets downstream of a failing test or an untested table, cut is %s', (width, cut) => {
    const { seen } = hub(width);
    const [failing] = seen((scope) => failingNow(scope, WHOLE)).rows;
    const [untested] = seen((scope) => untestedTables(scope, { ...WHOLE, all: true })).rows;
    const count = Math.min(width, 10_000);
    const expected = { downstream_count: count, downstream_cut: cut };
    expect([failing, untested]).toMatchObject([expected, expected]);
  });

  test.each([
    [20, false],
    [21, true],
  ])('trends of %i groups show the 20 with the most runs, and cut is %s', (count, cut) => {
    const { seen } = withAsset(({ db }) => {
      for (const [i, n] of numbered(count).entries()) {
        insert(db, tests, test_(n, { asset_id: 'x', test_type: `type ${n}` }));
        for (let at = 0; at <= i; at += 1)
          insert(
            db,
            testExecutions,
            run(`${n}:${at}`, { test_id: n, status: 'PASS', start_time: `2026-11-19T00:00:00.0000${10 + at}Z` }),
          );
      }
    });
    const found = seen((scope) => trends(scope, { by: 'test_type', days: 3 }, NOW));
    const most = numbered(count).toReversed().slice(0, 20);
    expect([found.groups.map(({ name }) => name), found.cut]).toEqual([most.map((n) => `type ${n}`), cut]);
  });
});
