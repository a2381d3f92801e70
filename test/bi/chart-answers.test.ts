import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { DATASETS } from '../../src/bi/datasets.ts';
import { SQLITE } from '../../src/bi/dialect.ts';
import { answerColumnsOf, chartSql } from '../../src/bi/query.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { type BothMirrors, SCHEMA, startBothMirrors } from './both-mirrors.ts';
import { contentOf, filesOf } from './setup.ts';
import { day, fillSmallMirror } from './small-mirror.ts';
import { type Choice, type Database, grafanaQueries, metabaseQueries } from './tool-queries.ts';

let mirrors: BothMirrors;

beforeAll(async () => {
  const file = openForWriting(':memory:');
  fillSmallMirror(file.db);
  mirrors = await startBothMirrors(file);
});
afterAll(() => mirrors.close());

const TOOLS = { Grafana: grafanaQueries, Metabase: metabaseQueries } as const;
type Tool = keyof typeof TOOLS;
type Asked = readonly [tool: Tool, database: Database];

const ASKED: readonly Asked[] = [
  ['Grafana', 'sqlite'],
  ['Grafana', 'postgresql'],
  ['Metabase', 'sqlite'],
  ['Metabase', 'postgresql'],
];

/** What a chart shows, with numbers as numbers and days without a time, and without the hours since the present. */
async function shown(chart: Chart, [tool, database]: Asked, choice: Choice): Promise<unknown[][]> {
  const columns = answerColumnsOf(chart).filter(({ name }) => !['hours_open', 'hours_since_sync'].includes(name));
  const rows = await mirrors.ask(database, TOOLS[tool](database, choice).get(chart.title) ?? '');
  return rows.map((row) =>
    columns.map(({ name, type }) => {
      const value = row[name] ?? null;
      if (value === null || type === 'text') return value;
      if (type === 'day') return String(value).slice(0, 10);
      return type === 'time' ? new Date(String(value)).toISOString() : Math.round(Number(value) * 1e6) / 1e6;
    }),
  );
}

const CHOICES: readonly (readonly [name: string, choice: Choice])[] = [
  ['nothing', {}],
  ['an environment', { environment: 'Here' }],
  ['an owner', { owner: 'bob' }],
  ['an owner in an environment where there is none', { environment: 'There', owner: 'bob' }],
  ['a tag', { tag: 'daily' }],
  ['a schema', { schema: 'shop' }],
  ['no schema, in an environment', { schema: 'no schema', environment: 'There' }],
  ['the last two days', { from: `${day(2)}T00:00:00.000Z` }],
  ['a past day', { from: `${day(3)}T00:00:00.000Z`, to: `${day(3)}T23:59:59.999Z` }],
  ['a time without rows', { from: `${day(40)}T00:00:00.000Z`, to: `${day(39)}T00:00:00.000Z` }],
];

describe('the charts of Grafana and Metabase', () => {
  test.each(CHOICES)('both tools show the same over both databases if the reader chose %s', async (_, choice) => {
    for (const chart of Object.values<Chart>(CHARTS)) {
      const [first, ...others] = await Promise.all(ASKED.map((asked) => shown(chart, asked, choice)));
      for (const other of others) expect(other, chart.title).toEqual(first);
    }
  });

  test('a list of rows that have a key shows two of them that look alike', () => {
    const lists = Object.values<Chart>(CHARTS).filter(({ kind, metrics }) => kind === 'table' && metrics.length === 0);
    const keyed = lists.filter(({ dataset }) => 'row_key' in DATASETS[dataset].select);
    expect(keyed.length).toBeGreaterThan(3);
    expect(keyed.filter(({ key }) => key.length === 0).map(({ title }) => title)).toEqual([]);
  });

  test('every list and chart has rows without a filter, except those of problems that the mirror does not have', async () => {
    const empty = ['failing-impact', 'runs'];
    for (const [id, chart] of Object.entries<Chart>(CHARTS))
      expect([id, (await shown(chart, ['Grafana', 'sqlite'], {})).length > 0]).toEqual([id, !empty.includes(id)]);
  });
});

describe.each(ASKED)('in %s over %s', (...asked) => {
  const answer = (id: keyof typeof CHARTS, choice: Choice = {}) => shown(CHARTS[id], asked, choice);

  test('a row of several owners counts once in all, and once for each of them', async () => {
    const numbers = async (owner?: string) => {
      const choice = { environment: 'Here', ...(owner === undefined ? {} : { owner }) };
      const ids = [
        ...(['failing-tests', 'open-incidents', 'pass-rate', 'mean-time-to-resolve'] as const),
        ...(['coverage', 'column-coverage', 'health', 'stale-assets'] as const),
      ];
      const answers = await Promise.all(ids.map((id) => answer(id, choice)));
      return answers.map(([row]) => row?.[0]);
    };
    expect(await numbers()).toEqual([2, 2, 0.583333, 36, 0.666667, 0.5, 0.5, 1]);
    expect(await numbers('ann')).toEqual([1, 1, 0.625, 48, 0.666667, 0.5, 0.5, 1]);
    expect(await numbers('bob')).toEqual([1, 1, 0.5, 36, 0.5, 0.5, 0.55, 1]);
    expect(await numbers('cat')).toEqual([1, 1, 0.5, 24, null, null, null, 0]);
    expect(await answer('failing-by-owner')).toEqual([
      ['no owner', 2],
      ['ann', 1],
      ['bob', 1],
      ['cat', 1],
    ]);
    expect(await answer('incidents-by-owner')).toEqual([
      ['no owner', 2, 3, null],
      ['bob', 1, 3, 36],
      ['ann', 1, 2, 48],
      ['cat', 1, 2, 24],
    ]);
    expect(await answer('failing-runs-daily', { environment: 'Here' })).toEqual([
      [day(4), 0, 0, 0],
      [day(3), 0, 2, 0],
      [day(2), 0, 1, 0],
      [day(1), 0, 2, 0],
    ]);
  });

  test('a row of several tags counts once in all, and once for each of them, whoever owns it', async () => {
    const numbers = async (choice: Choice) => {
      const ids = ['failing-tests', 'open-incidents', 'pass-rate', 'mean-time-to-resolve'] as const;
      const answers = await Promise.all(ids.map((id) => answer(id, choice)));
      return answers.map(([row]) => row?.[0]);
    };
    expect(await numbers({ environment: 'Here' })).toEqual([2, 2, 0.583333, 36]);
    expect(await numbers({ tag: 'pii' })).toEqual([1, 1, 0.625, 48]);
    expect(await numbers({ tag: 'daily' })).toEqual([1, 1, 0.5, 36]);
    expect(await numbers({ tag: 'daily', owner: 'bob' })).toEqual([1, 1, 0.5, 36]);
    expect(await numbers({ tag: 'daily', owner: 'ann' })).toEqual([0, 0, 0.5, 48]);
    expect(await numbers({ tag: 'no tag', environment: 'Here' })).toEqual([0, 0, null, null]);
  });

  test('a chosen schema leaves the tests, tables and scores of its assets', async () => {
    const numbers = async (schema: string) => {
      const ids = ['failing-tests', 'open-incidents', 'coverage', 'health'] as const;
      const answers = await Promise.all(ids.map((id) => answer(id, { schema })));
      return answers.map(([row]) => row?.[0]);
    };
    expect(await numbers('shop')).toEqual([2, 2, 1, 0.65]);
    expect(await numbers('no schema')).toEqual([2, 2, 0, 0.2]);
  });

  test('a list has a row once, whoever owns it, with all its owners', async () => {
    const rows = await answer('failing-list', { environment: 'Here' });
    expect(rows.map((row) => [row[1], row[5]])).toEqual([
      ['own', 'bob, cat'],
      ['single', 'ann'],
    ]);
  });

  test('an incident without an earlier run is listed, but it is not known on which day it began', async () => {
    const listed = await answer('open-incidents-list');
    const known = listed.map((row) => [row[1], row[6]]);
    expect(known.sort()).toEqual([
      ['late', 1],
      ['old', 0],
      ['own', 1],
      ['single', 1],
    ]);
    expect(await answer('incidents-daily')).toEqual([
      [day(5), 'FAIL', 1],
      [day(3), 'FAIL', 2],
      [day(2), 'ERROR', 1],
      [day(1), 'FAIL', 2],
    ]);
  });

  test('the hours that an incident is open are known only if its beginning is', async () => {
    const [tool, database] = asked;
    const listed = await mirrors.ask(database, TOOLS[tool](database, {}).get('List of open incidents') ?? '');
    const hours = listed.map((row) => [row['test_name'], typeof row['hours_open']]);
    expect(Object.fromEntries(hours)).toEqual({ late: 'number', old: 'object', own: 'number', single: 'number' });
  });

  test('an environment without histories has no trend before its first sync', async () => {
    const rows = await answer('pass-rate-daily', { environment: 'There' });
    expect(rows).toEqual([
      [day(2), 'There', 0],
      [day(1), 'There', 0],
    ]);
    expect(await answer('history-since')).toEqual([
      ['Gone', day(6)],
      ['Here', day(4)],
      ['New', null],
      ['There', day(2)],
    ]);
  });

  test('health has no trend before the newest score of the first read, although others were older', async () => {
    expect(await answer('health-daily')).toEqual([
      [day(3), 'total', 0.1],
      [day(1), 'total', 0.65],
    ]);
  });

  test('an environment that is no longer listed is in trends alone: nothing there is failing, open or stale now', async () => {
    const ids = [
      ...(['failing-tests', 'open-incidents', 'stale-assets', 'rejected-rows', 'health', 'coverage'] as const),
      ...(['failing-list', 'open-incidents-list', 'streams', 'worst-assets', 'pass-rate-daily'] as const),
    ];
    const answers = await Promise.all(ids.map((id) => answer(id, { environment: 'Gone' })));
    expect(answers).toEqual([
      ...[[[0]], [[0]], [[0]], [[0]], [[null]], [[null]]],
      ...[[], [], [], []],
      [
        [day(6), 'Gone', 1],
        [day(5), 'Gone', 0],
      ],
    ]);
  });

  test('an environment that is no longer listed does not age the mirror', async () => {
    const [tool, database] = asked;
    const [row] = await mirrors.ask(database, TOOLS[tool](database, {}).get('Hours since sync') ?? '');
    expect(Math.round(Number(row?.['hours_since_sync']))).toBe(5);
  });

  test('a time applies to the last run of what fails and to the day on which an incident was resolved, not to what is stale', async () => {
    const past = { from: `${day(2)}T00:00:00.000Z`, to: `${day(2)}T23:59:59.999Z` };
    expect(await answer('failing-tests', past)).toEqual([[0]]);
    expect(await answer('mean-time-to-resolve', past)).toEqual([[24]]);
    // What is stale is so now.
    expect(await answer('stale-assets', past)).toEqual([[1]]);
  });
});

describe.each([
  ['sqlite', '/data/obsync.db'],
  ['postgresql', `postgres://bi@localhost/warehouse?schema=${SCHEMA}`],
] as const)('the rules for alerts of Grafana over %s', (database, db) => {
  test.each([
    // Its last run has just ended, whether or not it read anything.
    ['obsync-stale', { Here: 2, There: 5 }],
    // A test that only warns does not count.
    ['obsync-failing', { Here: 2, There: 1 }],
  ])('%s compares one number per environment that is still listed', async (uid, numbers) => {
    const [{ rules }] = contentOf(filesOf('grafana', { db }).get('provisioning/alerting/obsync.yaml')).groups;
    const { rawSql, rawQueryText } = rules.find((rule: { uid: string }) => rule.uid === uid).data[0].model;
    const rows = await mirrors.ask(database, rawSql ?? rawQueryText);
    const answered = rows.map(({ env_name, ...number }) => [env_name, Math.round(Number(Object.values(number)[0]))]);
    expect(Object.fromEntries(answered)).toEqual(numbers);
  });
});

test('an environment that no run has read to the end is as old as the first attempt', async () => {
  const file = openForWriting(':memory:');
  fillSmallMirror(file.db);
  file.connection.exec(`
    update sync_checkpoints set watermark = null where env_id = 'there' and stream = 'columns';
    insert into sync_stream_runs (run_id, env_id, stream, mode, reason, status, requests, pages, rows_written,
      rows_deleted, rows_rejected, rows_late, started_at, ended_at)
    select id, 'there', 'columns', 'scan', 'first', 'failed', 1, 0, 0, 0, 0, 0,
      strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now', '-' || (8 - id) || ' hours'), '${day(0)}T00:00:00.000000Z'
    from (select 1 as id union select 2)`);
  const attempted = await startBothMirrors(file);
  for (const database of ['sqlite', 'postgresql'] as const) {
    const rows = await attempted.ask(database, TOOLS.Metabase(database, {}).get(CHARTS.environments.title) ?? '');
    const hours = rows.map((row) => [
      row['env_name'],
      row['hours_since_sync'] && Math.round(Number(row['hours_since_sync'])),
    ]);
    expect(Object.fromEntries(hours)).toEqual({ Here: 2, There: 7, New: null, Gone: null });
  }
  await attempted.close();
});

test('trends begin where a pruning ended, and the beginning of what it kept is known (R17)', async () => {
  const file = openForWriting(':memory:');
  fillSmallMirror(file.db);
  // The first failing run of `single` lasts, so it was kept; one old run is the latest of its test.
  file.connection.exec(`
    delete from test_executions where env_id = 'here' and (start_time < '${day(2)}' or id = 'single-2');
    update test_executions set start_time = replace(start_time, '${day(1)}', '${day(9)}') where id = 'single-1';
    insert into pruned_history (env_id, history, action, complete_before, pruned_through, row_count, mirrored_at)
    values ('here', 'test_executions', 'delete', '${day(2)}T00:00:00.000000Z', '', 5, '${day(1)}T00:00:00.000000Z')`);
  const pruned = await startBothMirrors(file);
  for (const database of ['sqlite', 'postgresql'] as const) {
    const ask = async (id: keyof typeof CHARTS): Promise<unknown[]> => {
      const sql = TOOLS.Metabase(database, { environment: 'Here' }).get(CHARTS[id].title) ?? '';
      const rows = await pruned.ask(database, sql);
      return rows.map(
        (row) => row['history_since'] ?? row['day'] ?? `${row['test_name']} ${Number(row['is_begin_known'])}`,
      );
    };
    expect([database, await ask('history-since')]).toEqual([database, [day(2)]]);
    expect([database, await ask('pass-rate-daily')]).toEqual([database, [day(2), day(1)]]);
    expect([database, await ask('open-incidents-list')]).toEqual([database, ['single 1', 'own 1']]);
  }
  await pruned.close();
});

test('a list says that nobody owns a row', () => {
  const { db, connection } = openForWriting(':memory:');
  fillSmallMirror(db);
  connection.exec("update assets set owners = null; update tests set owners = '[]'");
  const lists = Object.values<Chart>(CHARTS).filter(({ columns }) => columns.includes('owners'));
  expect(lists).toHaveLength(5);
  for (const chart of lists) {
    const owners = connection.prepare(`select distinct owners from (${chartSql(chart, SQLITE, [])})`).pluck();
    expect([chart.title, owners.all()]).toEqual([chart.title, ['no owner']]);
  }
  connection.close();
});
