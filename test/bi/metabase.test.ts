import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { POSTGRESQL, SQLITE } from '../../src/bi/chart-dialect.ts';
import { CHART_SECTIONS, CHARTS, DASHBOARD } from '../../src/bi/charts.ts';
import { folder, NODE, obsync } from '../cli/setup.ts';
import { API_KEY, type MetabaseServer, startMetabase } from './metabase-server.ts';

let to: string;
let metabase: MetabaseServer;

beforeAll(async () => {
  to = join(folder(), 'metabase');
  expect(await obsync(['bi', 'metabase', '--to', to])).toMatchObject({ code: 0 });
});

type Dashcard = MetabaseServer['dashboards'][number]['dashcards'][number];

const run = promisify(execFile);

/** Runs the script as a user does. It sees these variables alone. */
async function runScript(env: Readonly<Record<string, string>> = {}, within = to) {
  const given = { METABASE_URL: metabase.url, METABASE_API_KEY: API_KEY, ...env };
  const said = await run(NODE, [join(within, 'metabase.mjs')], { cwd: folder(), env: given })
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
        dataset_query: { database: 5, native: { query: chart.sql(SQLITE) } },
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
        dataset_query: { database: 6, native: { query: chart.sql(POSTGRESQL) } },
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
      /^metabase\.mjs: GET .* got no whole answer .*: check METABASE_URL\n$/,
    ],
    [
      'with a password in the address, which it does not quote',
      { METABASE_URL: 'http://user:PASSW0RD@127.0.0.1:1' },
      /^metabase\.mjs: METABASE_URL must not contain a user name or a password\n$/,
    ],
    [
      'with an address of another kind',
      { METABASE_URL: 'ftp://127.0.0.1' },
      /^metabase\.mjs: METABASE_URL must begin with https/,
    ],
    [
      'rather than send the key over plain http to another machine',
      { METABASE_URL: 'http://0.0.0.0:1' },
      /^metabase\.mjs: METABASE_URL is plain http, .*: use https, or set METABASE_ALLOW_HTTP to 1\n$/,
    ],
    [
      'with nobody there on another machine, over plain http that is allowed',
      { METABASE_URL: 'http://0.0.0.0:1', METABASE_ALLOW_HTTP: '1' },
      /^metabase\.mjs: GET .* got no whole answer /,
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
      'a failure, of which it prints no characters that control a terminal',
      { status: 500, text: 'one\n\u001b[31mtwo\u009bthree\u202e' },
      /answered 500 to GET .*: one \[31mtwo three\n$/,
    ],
    [
      'a long failure, of which it prints the first 300 characters and nothing of the key',
      { status: 500, text: `${'x'.repeat(290)}${API_KEY}${'y'.repeat(1000)}` },
      /answered 500 to GET api\/database: x{290}…y{9}\n$/,
    ],
    [
      'an answer that is no JSON',
      { status: 200, text: '<html>' },
      /answered GET api\/database with something else than JSON: check METABASE_URL\n$/,
    ],
    ...['null', '{"data":{}}', '{}', '[null]', '7'].map(
      (text) =>
        [
          `databases that are ${text}`,
          { status: 200, text },
          /answered GET api\/database with something else than a list: check METABASE_URL\n$/,
        ] as const,
    ),
    [
      'collections that are no list',
      { status: 200, text: '{}', of: /collection$/ },
      /answered GET api\/collection with something else than a list/,
    ],
    [
      'items without data',
      { status: 200, text: '{"total":0}', of: /items$/ },
      /answered GET api\/collection\/\d+\/items.* with something else than a list/,
    ],
    [
      'a dashboard that is none',
      { status: 200, text: 'null', of: /GET .*dashboard/ },
      /answered GET api\/dashboard\/\d+ with no id/,
    ],
    [
      'a dashboard whose parts are no list',
      { status: 200, text: '{"id":7,"tabs":{}}', of: /GET .*dashboard/ },
      /answered GET api\/dashboard\/\d+ with something else than a list/,
    ],
    [
      'an answer that ends in the middle',
      { status: 200, text: '{"data"', ending: 'cut' },
      /GET api\/database got no whole answer .*: check METABASE_URL\n$/,
    ],
    [
      'a refusal of what the key may not do',
      { status: 403, text: 'You may not', of: /PUT .*card/ },
      /refused PUT api\/card\/\d+ \(403\): check METABASE_API_KEY and its group\n$/,
    ],
    ['no database at all', { status: 200, text: '{"data":[]}' }, /no database obsync: add it there\n$/],
  ] as const)('says in one line that it met %s', async (_, failure, line) => {
    metabase.databases = [{ id: 5, name: 'obsync', engine: 'sqlite' }];
    metabase.failure = failure;
    expect(await runScript()).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
    expect((await runScript()).stderr).toMatch(/^[^\n]*\n$/);
    metabase.failure = null;
  });

  test('follows no redirect, which would send the key to another address', async () => {
    const other = await startMetabase();
    metabase.failure = { status: 307, text: '', headers: { location: `${other.url}/api/database` } };
    expect(await runScript()).toMatchObject({ code: 1, stderr: expect.stringMatching(/got no whole answer/) });
    expect(other.requests).toEqual([]);
    metabase.failure = null;
    await other.close();
  });

  test('gives up a request that is not answered within a minute', async () => {
    // What the script takes for a minute is 60 milliseconds.
    const faster = 'const wait = AbortSignal.timeout; AbortSignal.timeout = (ms) => wait.call(AbortSignal, ms / 1000);';
    const options = `--import="data:text/javascript,${encodeURIComponent(faster)}"`;
    metabase.failure = { status: 200, text: '', ending: 'hang' };
    expect(await runScript({ NODE_OPTIONS: options })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/got no whole answer \(.*timeout\)/),
    });
    metabase.failure = null;
  });

  test('says what to do where metabase.json is not beside it', async () => {
    const alone = folder();
    copyFileSync(join(to, 'metabase.mjs'), join(alone, 'metabase.mjs'));
    expect(await runScript({}, alone)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^metabase\.mjs: metabase\.json .* missing .*: run obsync bi metabase again\n$/),
    });
  });
});

describe('the script for Metabase over a Metabase of its own', () => {
  beforeEach(async () => {
    metabase = await startMetabase();
  });
  afterEach(() => metabase.close());

  test('finds its questions among more items than Metabase gives at once', async () => {
    expect(await runScript()).toMatchObject({ code: 0 });
    const collection_id = metabase.collections[1]?.id;
    const theirs = Array.from({ length: 450 }, (_, i) => ({ id: 1000 + i, name: `theirs ${i}`, collection_id }));
    metabase.cards.unshift(...theirs);
    // Off the dashboard, they are found by the items alone.
    for (const dashboard of metabase.dashboards) dashboard.dashcards = [];
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(theirs.length + CHARTS.length);
    expect(metabase.dashboards).toHaveLength(1);
  });

  test('goes on after a failure in the middle, and makes nothing twice', async () => {
    metabase.failure = { status: 500, text: 'down', of: /PUT .*dashboard/ };
    expect(await runScript()).toMatchObject({ code: 1, stderr: expect.stringMatching(/answered 500 to PUT/) });
    metabase.failure = null;
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(CHARTS.length);
    expect(metabase.collections.filter(({ location }) => location === '/')).toHaveLength(1);
    expect(metabase.dashboards).toMatchObject([{ dashcards: { length: CHARTS.length + CHART_SECTIONS.length } }]);
  });

  test('finds a question again that was moved to another collection', async () => {
    expect(await runScript()).toMatchObject({ code: 0 });
    Object.assign(metabase.cards[0] ?? {}, { collection_id: 1 });
    const before = structuredClone(metabase.dashboards);
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(CHARTS.length);
    expect(metabase.dashboards).toEqual(before);
  });
});
