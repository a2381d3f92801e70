import { describe, expect, test } from 'vitest';
import { assetLineage, assets } from '../../schema/assets.ts';
import { assetDetail } from '../../src/page-data/asset-detail.ts';
import { lineageOf } from '../../src/page-data/asset-graph.ts';
import { failingNow } from '../../src/page-data/failing-now.ts';
import { mirrorTrust } from '../../src/page-data/mirror-trust.ts';
import { neighboursOf } from '../../src/page-data/neighbours.ts';
import { TEST_GROUPINGS, type TestGrouping } from '../../src/page-data/test-groups.ts';
import { trends } from '../../src/page-data/trends.ts';
import { untestedTables } from '../../src/page-data/untested-tables.ts';
import { asset, assetEdge, insert, insertMany, NOW } from '../server/fixture.ts';
import { mirrorOf } from './setup.ts';
import { fillWorld } from './world.ts';

const WHOLE = { limit: 1000, offset: 0 };

const { seen, rows: select } = mirrorOf();

/** Layers of assets with diamonds, cycles, deleted assets in between, and edges to assets never mirrored. */
function tangled() {
  const id = (n: number) => `a${n}`;
  const gone = { deleted_at: '2026-11-10T00:00:00.000000Z', deletion: 'tombstone' } as const;
  return mirrorOf(({ db }) => {
    for (let n = 0; n < 60; n += 1)
      insert(
        db,
        assets,
        asset(id(n), { ...(n % 7 === 3 ? { kind: 'bi', bi_type: 'look' } : {}), ...(n % 11 === 5 ? gone : {}) }),
      );
    for (let n = 0; n < 150; n += 1) {
      const [up, down] = [(n * 37) % 64, (n * n * 13 + n) % 64];
      db.insert(assetLineage)
        .values(assetEdge(id(up), id(down)))
        .onConflictDoNothing()
        .run();
    }
  });
}

describe('the asset graph, compared with the lineage views', () => {
  test('an asset reaches the same number of assets, and of BI assets', () => {
    const { seen, rows } = tangled();
    const expected = rows('select asset_id, downstream_count, downstream_bi_count from coverage_by_impact');
    expect(Math.max(...expected.map((row) => Number(row['downstream_count'])))).toBeGreaterThan(10);
    const found = seen((scope) => {
      const lineage = lineageOf(scope);
      return expected.map(({ asset_id }) => {
        const { downstream_cut: _, ...counts } = lineage.countDownstream(String(asset_id));
        return { asset_id, ...counts };
      });
    });
    expect(found).toEqual(expected);
  });

  test('the nearest flagged asset is one at the least depth', () => {
    const { seen, rows } = tangled();
    const ancestors = rows(
      'select asset_id, upstream_asset_id, depth from lineage_upstream order by upstream_asset_id',
    );
    const wanted = ['a1', 'a8', 'a30', 'a44'];
    for (const [id, of] of Map.groupBy(ancestors, (row) => String(row['asset_id']))) {
      const among = of.filter((row) => wanted.includes(String(row['upstream_asset_id'])));
      const depth = Math.min(...among.map((row) => Number(row['depth'])));
      const nearest = seen((scope) => {
        const lineage = lineageOf(scope);
        return lineage.nearest(id, lineage.flagged(wanted));
      });
      const ids = among.filter((row) => row['depth'] === depth).map((row) => row['upstream_asset_id']);
      expect([id, nearest && { ...nearest, ids: nearest.ids.toSorted() }]).toEqual([
        id,
        ids.length === 0 ? null : { ids, depth },
      ]);
    }
  });

  test('a walk stops counting at ten thousand assets and says that there are more', () => {
    const edge = { upstream_asset_id: "'hub'", downstream_asset_id: "'a' || i" };
    const { seen } = mirrorOf((writing) => insertMany(writing, 'asset_lineage', 10_001, edge));
    expect(seen((scope) => lineageOf(scope).countDownstream('hub'))).toEqual({
      downstream_count: 10_000,
      downstream_bi_count: 0,
      downstream_cut: true,
    });
    expect(seen((scope) => lineageOf(scope).degree('hub', 'downstream'))).toBe(10_001);
  });
});

describe('failingNow', () => {
  test('every failing sub-test is listed once, with its number of downstream assets', () => {
    const { total, rows: shown } = seen((scope) => failingNow(scope, WHOLE));
    const failing = select("select sub_test_unique_id as id from failing_tests where env_id = 'e' order by 1");
    expect(total).toBe(failing.length);
    expect(shown.map((row) => row.sub_test_unique_id).toSorted()).toEqual(failing.map(({ id }) => id));
    const reached = select(`select sub_test_unique_id as id, count(*) as n, sum(downstream_kind is 'bi') as bi
      from failing_test_impact where env_id = 'e' group by 1`);
    for (const { id, n, bi } of reached) {
      const row = shown.find((each) => each.sub_test_unique_id === id);
      expect([id, row?.downstream_count, row?.downstream_bi_count]).toEqual([id, n, bi]);
    }
  });

  test('errors come before failures and warnings; within a status, more downstream assets come first', () => {
    const { rows } = seen((scope) => failingNow(scope, WHOLE));
    const statuses = rows.map(({ status }) => status);
    expect(statuses).toEqual(statuses.toSorted((a, b) => 'ERROR FAIL WARN'.indexOf(a) - 'ERROR FAIL WARN'.indexOf(b)));
    const severe = rows.filter(({ status, severity }) => status === 'FAIL' && severity === 'ERROR');
    const counts = severe.map((row) => row.downstream_count);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  });

  test('the pages of the list add up to the whole list', () => {
    const { total, rows } = seen((scope) => failingNow(scope, WHOLE));
    const parts = Array.from({ length: Math.ceil(total / 3) }, (_, i) =>
      seen((scope) => failingNow(scope, { limit: 3, offset: i * 3 })),
    );
    expect(parts.flatMap((part) => part.rows)).toEqual(rows);
    expect(parts.every((part) => part.total === total)).toBe(true);
  });

  test('a failing sub-test has the start of its open incident, its last runs, and the nearest failing ancestor', () => {
    const { rows } = seen((scope) => failingNow(scope, WHOLE));
    const of = (id: string) => rows.find((row) => row.test_id === `${id}:test`);
    expect(of('m1')).toMatchObject({
      since: '2026-11-17T00:00:00.000000Z',
      cause: { id: 'o1', name: 'name of o1', depth: 1, test_id: 'o1:test' },
      owners: ['Everybody', 'owner 0'],
    });
    expect(
      of('m1')
        ?.history.map(({ status }) => status)
        .join(' '),
    ).toBe('PASS PASS FAIL FAIL PASS PASS PASS FAIL FAIL FAIL');
    expect(of('mdash')?.cause).toMatchObject({ depth: 2 });
    expect(of('m2')).toMatchObject({ since: '2026-11-10T01:00:00.000000Z', cause: { id: 'o2' }, owners: ['owner 1'] });
  });

  test('without a history, a test has been failing since its latest run', () => {
    const { seen } = mirrorOf((writing) => {
      fillWorld(writing);
      writing.connection.exec('delete from test_executions');
    });
    const { rows } = seen((scope) => failingNow(scope, WHOLE));
    expect(rows[0]).toMatchObject({ history: [], since: expect.stringMatching(/^2026-11-19/) });
  });
});

describe('trends', () => {
  const VIEWS: Readonly<Record<TestGrouping, { view: string; name: string }>> = {
    owner: { view: 'test_runs_daily_by_owner', name: 'owner' },
    schema: { view: 'test_runs_daily_by_schema', name: "db_name || '.' || schema_name" },
    test_type: { view: 'test_runs_daily_by_test_type', name: 'test_type' },
    tag: { view: 'test_runs_daily_by_tag', name: 'tag' },
  };

  test.each(TEST_GROUPINGS)('trends by %s agree with the daily view', (by) => {
    const { view, name } = VIEWS[by];
    const daily = select(`select ${name} as name, day, run_count, pass_rate from ${view} where env_id = 'e'`);
    const { days, groups } = seen((scope) => trends(scope, { by, days: 12 }, NOW));
    expect(days).toEqual(Array.from({ length: 12 }, (_, i) => `2026-11-${String(i + 9).padStart(2, '0')}`));
    const shown = groups.flatMap((group) =>
      days.flatMap((day, i) =>
        group.run_count[i] === 0
          ? []
          : [{ name: group.name, day, run_count: group.run_count[i], pass_rate: group.pass_rate[i] }],
      ),
    );
    const sorted = (all: readonly object[]) => all.map((each) => JSON.stringify(each)).toSorted();
    expect(sorted(shown)).toEqual(sorted(daily));
  });

  test('trends without a grouping cover all tests and agree with the incidents view', () => {
    const [all, ...none] = seen((scope) => trends(scope, { by: null, days: 12 }, NOW)).groups;
    expect([all?.name, none]).toEqual([null, []]);
    const daily = select("select run_count from test_runs_daily where env_id = 'e' order by day");
    expect(all?.run_count).toEqual([0, ...daily.map((row) => row['run_count']), 0]);
    const [incidents] = select(`select count(*) as n, count(resolved_at) as resolved, avg(hours_to_resolve) as hours,
      sum(resolved_at is null and test_disabled is not 1) as open from test_incidents where env_id = 'e'`);
    const sum = (counts: readonly number[] = []) => counts.reduce((a, b) => a + b, 0);
    expect(sum(all?.incidents_opened)).toBe(incidents?.['n']);
    expect(sum(all?.incidents_resolved)).toBe(incidents?.['resolved']);
    expect([all?.open_count, all?.mean_hours_to_resolve]).toEqual([incidents?.['open'], incidents?.['hours']]);
  });

  test('trends of a few days include incidents that began long before', () => {
    const found = seen((scope) => trends(scope, { by: null, days: 4 }, NOW)).groups[0];
    const [expected] =
      select(`select sum(first_start_time >= '2026-11-17') as opened, sum(resolved_at >= '2026-11-17') as resolved,
      sum(resolved_at is null and test_disabled is not 1) as open from test_incidents where env_id = 'e'`);
    const sum = (counts: readonly number[] = []) => counts.reduce((a, b) => a + b, 0);
    expect({
      opened: sum(found?.incidents_opened),
      resolved: sum(found?.incidents_resolved),
      open: found?.open_count,
    }).toEqual(expected);
  });

  test('incidents of disabled or deleted tests do not count as open', () => {
    const open = select(
      "select test_id from test_incidents where env_id = 'e' and resolved_at is null and test_disabled = 1",
    );
    expect(open.length).toBeGreaterThan(0);
    const { total } = seen((scope) => failingNow(scope, WHOLE));
    for (const by of [null, 'test_type'] as const) {
      const { groups } = seen((scope) => trends(scope, { by, days: 12 }, NOW));
      expect(groups.reduce((sum, group) => sum + group.open_count, 0)).toBe(total);
    }
  });

  test('trends have the mean scores of each day, the total first', () => {
    const { health } = seen((scope) => trends(scope, { by: null, days: 3 }, NOW));
    const mean = (day: string) =>
      select(
        `select avg(score) as mean from health_daily where env_id = 'e' and dimension = 'total' and day = '${day}'`,
      )[0];
    expect(health.map(({ dimension }) => dimension)).toEqual(['total', 'accuracy']);
    expect(health[0]?.scores).toEqual([mean('2026-11-18')?.['mean'], mean('2026-11-19')?.['mean'], null]);
  });
});

describe('untestedTables', () => {
  test('live tables are listed by downstream assets, most first, and agree with the coverage view', () => {
    const found = seen((scope) => untestedTables(scope, { ...WHOLE, all: true }));
    const coverage =
      select(`select asset_id, test_count, column_count, tested_column_count, downstream_count, downstream_bi_count
      from coverage_by_impact where env_id = 'e' order by asset_id`);
    const shown = found.rows.map(
      ({ asset: { id }, db_name: _, schema_name: __, owners: ___, downstream_cut: ____, ...row }) => ({
        asset_id: id,
        ...row,
      }),
    );
    expect(shown.toSorted((a, b) => (a.asset_id < b.asset_id ? -1 : 1))).toEqual(coverage);
    const counts = found.rows.map((row) => row.downstream_count);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    const sum = (name: string) => coverage.reduce((all, row) => all + Number(row[name]), 0);
    expect(found).toMatchObject({
      table_count: coverage.length,
      tested_table_count: coverage.filter((row) => Number(row['test_count']) > 0).length,
      column_count: sum('column_count'),
      tested_column_count: sum('tested_column_count'),
    });
  });

  test('tested tables are listed only on request', () => {
    const { total, rows } = seen((scope) => untestedTables(scope, { ...WHOLE, all: false }));
    expect([total, rows.map((row) => row.asset.id)]).toEqual([2, ['o4', 'm5'].toSorted()]);
  });
});

describe('assetDetail and neighboursOf', () => {
  test('an asset has its tests, failing ones first, and no details once it is deleted', () => {
    const detail = seen((scope) => assetDetail(scope, { id: 'm1' }));
    expect(detail?.tests).toMatchObject([{ test_id: 'm1:test', status: 'FAIL' }]);
    expect(detail).toMatchObject({ column_count: 3, tags: ['tag', 'tag of m1'], test_count: 1 });
    expect(detail?.scores.map(({ dimension }) => dimension)).toEqual(['total', 'accuracy']);
    expect(seen((scope) => assetDetail(scope, { id: 'mgone' }))).toBeNull();
  });

  test('neighbours are listed failing ones first, each with its own number of neighbours', () => {
    const query = { of: 'assets', direction: 'downstream', limit: 2, offset: 0 } as const;
    const { total, rows } = seen((scope) => neighboursOf(scope, { ...query, id: 'm4' })) ?? { total: 0, rows: [] };
    expect(total).toBe(3);
    expect(rows).toMatchObject([
      { id: 'm1', failing_count: 1, upstream_count: 2, downstream_count: 2, status: 'FAIL' },
      { id: 'mdash', failing_count: 1, upstream_count: 1, downstream_count: 0, status: 'WARN' },
    ]);
    expect(seen((scope) => neighboursOf(scope, { ...query, id: 'nobody' }))).toBeNull();
  });
});

describe('mirrorTrust', () => {
  const EVERYTHING = { environments: null, deniedScopes: [], seesSomeAssets: false };

  test('a stream has its live, held-back and rejected rows, and the time up to which it is complete', () => {
    const { environments, last_run } = seen(({ reads }) => mirrorTrust(reads, EVERYTHING));
    const streams = environments.find(({ env_id }) => env_id === 'e')?.streams ?? [];
    const named = (name: string) => streams.find(({ stream }) => stream === name);
    expect(named('assets')).toMatchObject({ rows: 12, complete_at: '2026-11-20T11:00:00.000000Z', status: 'done' });
    expect(named('table_assets')).toMatchObject({ rows: 10 });
    expect(named('columns')).toMatchObject({
      rows: 36,
      held_count: 1,
      rejected_count: 1,
      error: 'columns of o1 failed',
    });
    expect(named('test_executions')).toMatchObject({ gap_count: 1 });
    expect(last_run).toMatchObject({ run: 2, status: 'problems', error: 'f: away' });
  });
});
