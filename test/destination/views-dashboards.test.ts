import { beforeEach, describe, expect, test } from 'vitest';
import { SYNC_TIMES } from '../../src/metrics/measurements.ts';
import { syncAges } from '../../src/metrics/sync-ages.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { add, addCheckpoint, addRuns, gone, pluck, run, select, useMirror } from './views-setup.ts';

useMirror();

/** Two tables. `orders` feeds the other one and, through it, a dashboard. */
beforeEach(() => {
  add(
    'assets',
    { id: 'orders', name: 'orders', kind: 'table', db_name: 'dwh', schema_name: 'raw', owners: '["ann"]' },
    { id: 'sales', name: 'sales', kind: 'table', db_name: 'dwh', schema_name: 'mart', owners: '[]' },
    { id: 'board', name: 'board', kind: 'bi', bi_type: 'dashboard', url: 'https://bi.example/1', owners: '["eve"]' },
    { id: 'old', name: 'old', kind: 'bi', ...gone },
  );
  for (const [upstream_asset_id, downstream_asset_id] of ['orders>sales', 'sales>board', 'sales>old', 'old>board'].map(
    (edge) => edge.split('>'),
  ))
    add('asset_lineage', { upstream_asset_id, downstream_asset_id });
  add(
    'tests',
    {
      id: 't',
      name: 'unique',
      test_type: 'unique',
      asset_id: 'orders',
      owners: '["bob", "cat", "bob"]',
      tags: '["x"]',
    },
    { id: 'u', name: 'fresh', test_type: 'freshness', asset_id: 'orders', owners: '[]', tags: '["x", "y", "x"]' },
    { id: 'w', name: 'volume', test_type: 'freshness', asset_id: 'sales', owners: '[]', tags: null },
  );
});

const runsOf = (test_id: string, statuses: string[], table?: string): void =>
  addRuns(statuses, { test_id, sub_test_unique_id: `sub-${test_id}` }, table);

describe('test_owners and test_tags', () => {
  test('there is one row per test and distinct owner or tag', () => {
    expect(select('SELECT test_name, asset_name, owner FROM test_owners ORDER BY owner')).toEqual([
      { test_name: 'unique', asset_name: 'orders', owner: 'bob' },
      { test_name: 'unique', asset_name: 'orders', owner: 'cat' },
    ]);
    expect(pluck("SELECT test_id || ' ' || tag FROM test_tags ORDER BY 1")).toEqual(['t x', 'u x', 'u y']);
  });

  test('deleted tests have no rows', () => {
    add('tests', { id: 'gone', owners: '["zoe"]', tags: '["z"]', ...gone });
    expect(pluck("SELECT owner FROM test_owners WHERE owner = 'zoe'")).toEqual([]);
    expect(pluck("SELECT tag FROM test_tags WHERE tag = 'z'")).toEqual([]);
  });
});

describe('the views of daily runs', () => {
  beforeEach(() => {
    runsOf('t', ['PASS', 'FAIL']);
    runsOf('u', ['PASS', 'SKIPPED', 'WARN', 'PASS']);
    runsOf('w', ['ERROR']);
    runsOf('unseen', ['PASS']);
  });
  const rates = (view: string, by: string) =>
    select(`SELECT ${by}, day, run_count, pass_count, pass_rate FROM ${view} ORDER BY 1, 2`).map((row) =>
      Object.values(row).join(' '),
    );

  test('a run counts once for each owner of its test, or of its asset if the test has none', () => {
    expect(rates('test_runs_daily_by_owner', "COALESCE(owner, '-')")).toEqual([
      '- 2026-11-20 2 1 0.5',
      'ann 2026-11-20 4 2 0.6666666666666666',
      'bob 2026-11-20 2 1 0.5',
      'cat 2026-11-20 2 1 0.5',
    ]);
  });

  test('runs are grouped by tag, test type and schema, with NULL for none', () => {
    expect(rates('test_runs_daily_by_tag', "COALESCE(tag, '-')")).toEqual([
      '- 2026-11-20 2 1 0.5',
      'x 2026-11-20 6 3 0.6',
      'y 2026-11-20 4 2 0.6666666666666666',
    ]);
    expect(rates('test_runs_daily_by_test_type', "COALESCE(test_type, '-')")).toEqual([
      '- 2026-11-20 1 1 1',
      'freshness 2026-11-20 5 2 0.5',
      'unique 2026-11-20 2 1 0.5',
    ]);
    expect(rates('test_runs_daily_by_schema', "COALESCE(db_name || '.' || schema_name, '-')")).toEqual([
      '- 2026-11-20 1 1 1',
      'dwh.mart 2026-11-20 1 0 0',
      'dwh.raw 2026-11-20 6 3 0.6',
    ]);
  });
});

describe('the views of daily runs after a pruning', () => {
  const VIEWS = ['', '_by_owner', '_by_tag', '_by_test_type', '_by_schema'].map((by) => `test_runs_daily${by}`);
  const days = () => VIEWS.map((view) => pluck(`SELECT DISTINCT day FROM ${view} ORDER BY 1`));
  const pruned = (times: object, env_id = 'e') => {
    const row = { env_id, history: 'test_executions', action: 'delete', pruned_through: '', row_count: 5 };
    run('DELETE FROM pruned_history');
    add('pruned_history', { ...row, ...times });
  };

  beforeEach(() => {
    // What a pruning leaves: the first run of an incident that still lasts.
    add('test_executions', {
      ...{ id: 'first', test_id: 't', sub_test_unique_id: 's', sub_type: 'rows', status: 'FAIL', duration_seconds: 1 },
      start_time: '2026-11-01T08:00:00.000000Z',
    });
    runsOf('t', ['PASS', 'FAIL']);
  });

  test('they leave out the days whose runs were pruned, also while a pruning goes on', () => {
    const [all, left] = [['2026-11-01', '2026-11-20'], ['2026-11-20']];
    expect(days()).toEqual(VIEWS.map(() => all));
    pruned({ complete_before: '2026-11-20T00:00:00.000000Z' });
    expect(days()).toEqual(VIEWS.map(() => left));
    pruned({ complete_before: '2026-10-01T00:00:00.000000Z', pruning_before: '2026-11-02T00:00:00.000000Z' });
    expect(days()).toEqual(VIEWS.map(() => left));
  });

  test('a pruning of another environment or history leaves out nothing', () => {
    const times = { complete_before: '2026-11-20T00:00:00.000000Z' };
    for (const other of [() => pruned(times, 'f'), () => pruned({ ...times, history: 'asset_health_score_history' })]) {
      other();
      expect(days()[0]).toEqual(['2026-11-01', '2026-11-20']);
    }
  });
});

describe('the views of incidents', () => {
  test('an incident has the owners of its test and asset, and the hours to resolve it once resolved', () => {
    runsOf('t', ['FAIL', 'FAIL', 'PASS', 'WARN', 'FAIL']);
    expect(
      select(`SELECT test_owners, asset_owners, duration_hours, hours_to_resolve FROM test_incidents
        ORDER BY first_start_time`),
    ).toEqual([
      { test_owners: 'bob, cat, bob', asset_owners: 'ann', duration_hours: 2, hours_to_resolve: 2 },
      { test_owners: 'bob, cat, bob', asset_owners: 'ann', duration_hours: 1, hours_to_resolve: null },
    ]);
  });

  test('the mean time to resolve of an owner counts resolved incidents only', () => {
    runsOf('t', ['FAIL', 'PASS', 'FAIL', 'FAIL', 'FAIL', 'PASS', 'FAIL']);
    runsOf('w', ['FAIL']);
    const counts = { incident_count: 3, open_count: 1, resolved_count: 2, mean_hours_to_resolve: 2 };
    expect(select('SELECT * FROM test_incidents_by_owner ORDER BY owner')).toEqual([
      {
        env_id: 'e',
        env_name: 'Production',
        owner: null,
        incident_count: 1,
        open_count: 1,
        resolved_count: 0,
        mean_hours_to_resolve: null,
      },
      { env_id: 'e', env_name: 'Production', owner: 'bob', ...counts },
      { env_id: 'e', env_name: 'Production', owner: 'cat', ...counts },
    ]);
  });

  test('a filter on an asset reads only the runs of its tests', () => {
    const plan = select(
      'EXPLAIN QUERY PLAN SELECT * FROM test_incidents WHERE env_id = ? AND asset_id = ?',
      'e',
      'orders',
    ).map(({ detail }) => String(detail));
    for (const detail of plan.filter((it) => /^(SCAN|SEARCH) (f|t|y) /.test(it)))
      expect(detail).toMatch(/SEARCH .*=\?/);
    expect(plan).toContainEqual(expect.stringMatching(/SEARCH f USING COVERING INDEX test_executions_failing/));
  });
});

describe('the views of impact', () => {
  test('failing_test_impact lists everything downstream of a failing test, with owners and address', () => {
    runsOf('t', ['FAIL'], 'latest_test_executions');
    runsOf('w', ['PASS'], 'latest_test_executions');
    const test = { test_id: 't', asset_name: 'orders', test_owners: 'bob, cat, bob', status: 'FAIL' };
    expect(
      select(`SELECT test_id, asset_name, test_owners, status, downstream_name name, downstream_kind kind,
        downstream_bi_type bi_type, downstream_url url, downstream_owners owners, depth
        FROM failing_test_impact ORDER BY depth`),
    ).toEqual([
      { ...test, name: 'sales', kind: 'table', bi_type: null, url: null, owners: null, depth: 1 },
      {
        ...test,
        name: 'board',
        kind: 'bi',
        bi_type: 'dashboard',
        url: 'https://bi.example/1',
        owners: 'eve',
        depth: 2,
      },
    ]);
  });

  test('coverage_by_impact has each table’s tests and its direct and total dependents', () => {
    expect(
      select(`SELECT asset_id, owners, test_count tests, direct_downstream_count direct, downstream_count all_of_it,
        downstream_bi_count bi FROM coverage_by_impact ORDER BY downstream_count DESC`),
    ).toEqual([
      { asset_id: 'orders', owners: 'ann', tests: 2, direct: 1, all_of_it: 2, bi: 1 },
      { asset_id: 'sales', owners: null, tests: 1, direct: 1, all_of_it: 1, bi: 1 },
    ]);
  });

  test('coverage_by_impact counts an asset reached two ways once, and never a table as its own consumer', () => {
    for (const [upstream_asset_id, downstream_asset_id] of [
      ['orders', 'board'],
      ['board', 'orders'],
      ['orders', 'orders'],
    ])
      add('asset_lineage', { upstream_asset_id, downstream_asset_id });
    expect(
      select('SELECT asset_id, direct_downstream_count direct, downstream_count n FROM coverage_by_impact ORDER BY 1'),
    ).toEqual([
      { asset_id: 'orders', direct: 2, n: 2 },
      { asset_id: 'sales', direct: 1, n: 2 },
    ]);
  });
});

describe('stale_assets', () => {
  test('an asset is stale if it was updated more than 30 days before assets were mirrored; its last test run is shown', () => {
    const updated = (id: string, updated_at: string | null) =>
      add('assets', { id, name: id, kind: 'table', updated_at });
    updated('stale', '2026-10-20T23:00:00.000000Z');
    updated('fresh', '2026-10-21T01:00:00.000000Z');
    updated('unsaid', null);
    add('assets', { id: 'gone', updated_at: '2020-01-01T00:00:00.000000Z', ...gone });
    addCheckpoint('assets', '2026-11-20T00:00:00.000000Z');
    // A run that failed moves the clock alone.
    add('mirror_environments', { mirrored_at: '2027-11-20T00:00:00.000000Z' });
    add('tests', { id: 'v', asset_id: 'stale' }, { id: 'off', asset_id: 'stale', disabled: 1 });
    runsOf('v', ['PASS'], 'latest_test_executions');
    expect(select('SELECT asset_id, kind, days_since_update days, last_test_start_time at FROM stale_assets')).toEqual([
      { asset_id: 'stale', kind: 'table', days: 30, at: '2026-11-20T00:00:00.000000Z' },
    ]);
  });
});

describe('environment_freshness', () => {
  const AT = '2026-11-20T10:00:00.000000Z';
  const LATER = '2026-11-20T11:00:00.000000Z';
  const shown = () => pluck('SELECT complete_at FROM environment_freshness');

  test.each<[string, Record<string, [watermark: string | null, unavailable?: number]>, (string | null)[]]>([
    ['the stream that is furthest behind decides', { assets: [LATER], tests: [AT], columns: [LATER] }, [AT]],
    ['histories do not count', { assets: [LATER], test_executions: [AT] }, [LATER]],
    ['a stream that was never live does not count', { assets: [LATER], tests: [null, 1] }, [LATER]],
    ['a stream that is no longer live counts', { assets: [LATER], tests: [AT, 1] }, [AT]],
    ['a stream that was never read to its end leaves no time', { assets: [LATER], tests: [null] }, [null]],
    ['an environment that no run has begun to read has no row', {}, []],
  ])('%s, as for the metrics', (_, streams, expected) => {
    for (const [stream, [watermark, unavailable = 0]] of Object.entries(streams))
      addCheckpoint(stream, watermark, { unavailable });
    expect(shown()).toEqual(expected);
    const { oldest } = syncAges(
      { lastSync: [], checkpoints: select(SYNC_TIMES.checkpoints) as never },
      Date.parse(LATER),
    );
    const [at = null] = expected;
    expect(oldest).toBe(at === null ? null : (Date.parse(LATER) - Date.parse(at)) / 1000);
  });

  test('it leaves out exactly the streams that only some runs read', () => {
    for (const { name } of CATALOGUE) addCheckpoint(name, LATER);
    for (const { name, optional } of CATALOGUE) {
      run(`update sync_checkpoints set watermark = '${AT}' where stream = '${name}'`);
      expect([name, shown()]).toEqual([name, [optional === true ? LATER : AT]]);
      run(`update sync_checkpoints set watermark = '${LATER}'`);
    }
  });

  test('a run that ends moves nothing, and an environment that is no longer listed has no row', () => {
    addCheckpoint('assets', AT);
    add('mirror_environments', { mirrored_at: LATER });
    expect(shown()).toEqual([AT]);
    run(`update environments set missing_since = '${LATER}'`);
    expect(shown()).toEqual([]);
  });
});
