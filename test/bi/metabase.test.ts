import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { POSTGRESQL, SQLITE } from '../../src/bi/chart-dialect.ts';
import { CHART_SECTIONS, CHARTS, DASHBOARD, queryOf } from '../../src/bi/charts.ts';
import { folder, NODE, obsync } from '../cli/setup.ts';
import { API_KEY, type MetabaseServer, startMetabase } from './metabase-server.ts';
import { DICTIONARY } from './setup.ts';

let to: string;
let metabase: MetabaseServer;

beforeAll(async () => {
  to = join(folder(), 'metabase');
  expect(await obsync(['bi', 'metabase', '--to', to])).toMatchObject({ code: 0 });
});

type Dashcard = MetabaseServer['dashboards'][number]['dashcards'][number];

const run = promisify(execFile);

/** Runs the script as a user does. It sees these variables alone. */
async function runScript(env: Readonly<Record<string, string>> = {}) {
  const given = { METABASE_URL: metabase.url, METABASE_API_KEY: API_KEY, ...env };
  const said = await run(NODE, [join(to, 'metabase.mjs')], { cwd: folder(), env: given })
    .then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }))
    .catch(({ code, stdout, stderr }) => ({ code, stdout, stderr }));
  expect(`${said.stdout}${said.stderr}`).not.toContain(API_KEY);
  return said;
}

const kept = () => structuredClone([metabase.collections, metabase.cards, metabase.dashboards]);
const writes = () => metabase.requests.filter((request) => !request.startsWith('GET'));

describe('the script for Metabase', () => {
  beforeAll(async () => {
    metabase = await startMetabase();
  });
  afterAll(() => metabase.close());

  test('makes a question of every chart, and a dashboard that shows each under its heading', async () => {
    const { code, stdout } = await runScript();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+ questions.*\/bi\/dashboard\/\d+\n$/),
    });
    expect(metabase.cards).toMatchObject(
      CHARTS.map((chart) => ({
        name: chart.title,
        description: chart.question,
        dataset_query: { database: 5, native: { query: queryOf(chart, SQLITE, DICTIONARY.metrics) } },
      })),
    );
    const [dashboard] = metabase.dashboards;
    expect(dashboard).toMatchObject({ name: DASHBOARD.title, collection_id: metabase.collections[1]?.id });
    const shown = dashboard?.dashcards.map((each) => each['card_id']).filter((id) => id !== null);
    expect(shown).toEqual(metabase.cards.map(({ id }) => id));
    expect(JSON.stringify(dashboard?.dashcards)).toMatch(
      new RegExp(CHART_SECTIONS.map(({ title }) => `"text":"${title}"`).join('.*')),
    );
  });

  test('names in the settings of a question no column that it does not have', () => {
    CHARTS.forEach((chart, i) => {
      const columns = chart.columns.map(({ name }) => name);
      const settings = metabase.cards[i]?.['visualization_settings'] as Record<string, unknown>;
      const drawn = [settings['graph.dimensions'], settings['graph.metrics'], settings['scalar.field']].flat();
      const styled = Object.keys(settings['column_settings'] as object).map((key) => JSON.parse(key)[1]);
      const named = [...drawn, ...styled].filter((name) => name !== undefined);
      expect(columns).toEqual(expect.arrayContaining(named));
    });
  });

  test('run again, makes nothing twice and changes nothing', async () => {
    const before = kept();
    const made = writes().length;
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(kept()).toEqual(before);
    expect(
      writes()
        .slice(made)
        .every((request) => request.startsWith('PUT /api/card/')),
    ).toBe(true);
  });

  test('brings back what was changed or removed, and leaves what people have added and moved', async () => {
    const [dashboard] = metabase.dashboards;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    Object.assign(metabase.cards[0] ?? {}, { display: 'table' });
    const [heading, first, , ...others] = dashboard.dashcards;
    const moved = { ...(first ?? {}), row: 99 } as Dashcard;
    const theirs = { id: 1, card_id: 7, row: 120, col: 0, size_x: 4, size_y: 4 } as unknown as Dashcard;
    dashboard.dashcards = [heading as Dashcard, moved, theirs, ...others];
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards[0]).toMatchObject({ display: 'scalar' });
    expect(dashboard.dashcards).toEqual(expect.arrayContaining([expect.objectContaining({ card_id: 7, row: 120 })]));
    expect(dashboard.dashcards).toEqual(
      expect.arrayContaining([expect.objectContaining({ card_id: moved['card_id'], row: 99 })]),
    );
    expect(dashboard.dashcards).toHaveLength(CHARTS.length + CHART_SECTIONS.length + 1);
    expect(metabase.cards).toHaveLength(CHARTS.length);
  });

  test('adds what is missing to the first tab of a dashboard with tabs, and keeps the tabs', async () => {
    const [dashboard] = metabase.dashboards;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    dashboard.tabs = [
      { id: 31, name: 'first' },
      { id: 32, name: 'second' },
    ];
    dashboard.dashcards = dashboard.dashcards.slice(0, -2).map((each) => ({ ...each, dashboard_tab_id: 32 }));
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(dashboard.tabs.map(({ name }) => name)).toEqual(['first', 'second']);
    expect(dashboard.dashcards.filter((each) => each['dashboard_tab_id'] === 31)).toHaveLength(2);
  });

  test('asks a PostgreSQL in its own dialect', async () => {
    metabase.databases = [{ id: 6, name: 'warehouse', engine: 'postgres' }];
    expect(await runScript({ METABASE_DATABASE: 'warehouse' })).toMatchObject({ code: 0 });
    expect(metabase.cards).toMatchObject(
      CHARTS.map((chart) => ({
        dataset_query: { database: 6, native: { query: queryOf(chart, POSTGRESQL, DICTIONARY.metrics) } },
      })),
    );
  });

  test.each([
    ['without an address', { METABASE_URL: '' }, /^metabase\.mjs: set METABASE_URL/],
    ['with an address that is none', { METABASE_URL: 'metabase' }, /^metabase\.mjs: .*: check METABASE_URL\n$/],
    ['without a key', { METABASE_API_KEY: '' }, /^metabase\.mjs: set METABASE_API_KEY/],
    [
      'with a wrong key',
      { METABASE_API_KEY: 'wrong' },
      /^metabase\.mjs: Metabase refused GET .* \(401\): check METABASE_API_KEY/,
    ],
    [
      'with nobody there',
      { METABASE_URL: 'http://127.0.0.1:1' },
      /^metabase\.mjs: GET .* got no answer .*: check METABASE_URL\n$/,
    ],
    [
      'for a database that is not there',
      { METABASE_DATABASE: 'x' },
      /^metabase\.mjs: Metabase has no database x: .* one of warehouse, my\n$/,
    ],
    [
      'for a database of another kind',
      { METABASE_DATABASE: 'my' },
      /^metabase\.mjs: the database my is of the kind mysql: only/,
    ],
  ])('ends 1 and changes nothing %s', async (_, env, line) => {
    metabase.databases = [
      { id: 6, name: 'warehouse', engine: 'postgres' },
      { id: 7, name: 'my', engine: 'mysql' },
    ];
    const before = kept();
    expect(await runScript(env)).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
    expect(kept()).toEqual(before);
  });

  test.each([
    [
      'a failure, without the key that it quotes',
      { status: 500, text: `no place for ${API_KEY}` },
      /answered 500 to GET .*: no place for …\n$/,
    ],
    [
      'an answer that is no JSON',
      { status: 200, text: '<html>' },
      /answered GET api\/database with something else than JSON: check METABASE_URL\n$/,
    ],
  ])('says in one line that it met %s', async (_, failure, line) => {
    metabase.failure = failure;
    expect(await runScript()).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
    metabase.failure = null;
  });
});
