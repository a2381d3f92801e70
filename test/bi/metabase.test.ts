import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { STATUS_COLORS } from '../../src/bi/dataset-columns.ts';
import { DASHBOARD, TABS } from '../../src/bi/layout.ts';
import { answerColumnsOf } from '../../src/bi/query.ts';
import { folder, NODE, obsync } from '../cli/setup.ts';
import { SCHEMA } from './both-mirrors.ts';
import { API_KEY, type MetabaseServer, startMetabase } from './metabase-server.ts';
import { METABASE_INPUT, METABASE_QUESTIONS, type MetabaseQuestion } from './tool-queries.ts';

/** The questions that the choices of the filters come from, and those on the dashboard. */
const CHOICES = METABASE_INPUT.parameters.flatMap(({ choices }) => choices?.question ?? []);
const QUESTIONS = [...CHOICES, ...METABASE_QUESTIONS];
const HEADINGS = TABS.flatMap(({ sections }) => sections.flatMap(({ title }) => title ?? []));
const chartOf = ({ name }: MetabaseQuestion): Chart =>
  Object.values<Chart>(CHARTS).find(({ title }) => title === name) as Chart;

let to: string;
let metabase: MetabaseServer;

beforeAll(async () => {
  to = join(folder(), 'metabase');
  const db = `postgres://bi@db.example.com/warehouse?schema=${SCHEMA}&sslmode=disable`;
  expect(await obsync(['bi', 'metabase', '--db', db, '--to', to])).toMatchObject({ code: 0 });
});

type Dashcard = MetabaseServer['dashboards'][number]['dashcards'][number];

const run = promisify(execFile);

/** Runs the script as a user does, with only these variables. */
async function runScript(env: Readonly<Record<string, string>> = {}, within = to) {
  const given = { METABASE_URL: metabase.url, METABASE_API_KEY: API_KEY, ...env };
  const said = await run(NODE, [join(within, 'metabase.mjs')], { cwd: folder(), env: given })
    .then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }))
    .catch(({ code, stdout, stderr }) => ({ code, stdout, stderr }));
  expect(`${said.stdout}${said.stderr}`).not.toContain(API_KEY);
  return said;
}

const cardOf = (name: string) => metabase.cards.find((each) => each.name === name);
const shownIn = (dashboard: MetabaseServer['dashboards'][number] | undefined) =>
  dashboard?.dashcards.map((each) => each['card_id']).filter((id) => id !== null);
const kept = () => structuredClone([metabase.collections, metabase.cards, metabase.dashboards]);
const writes = () => metabase.requests.filter((request) => !request.startsWith('GET'));

describe('the script for Metabase', () => {
  beforeAll(async () => {
    metabase = await startMetabase();
  });
  afterAll(() => metabase.close());

  test('it creates a question for every chart, and a dashboard that shows each under its heading', async () => {
    const { code, stdout } = await runScript();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+ questions.*\/bi\/dashboard\/\d+\n$/),
    });
    expect(metabase.cards).toMatchObject(
      QUESTIONS.map(({ name, description, sql }) => ({
        ...{ name, description },
        dataset_query: { database: 5, native: { query: sql.sqlite } },
      })),
    );
    const [dashboard] = metabase.dashboards;
    expect(dashboard).toMatchObject({ name: DASHBOARD.title, collection_id: metabase.collections[1]?.id });
    expect(shownIn(dashboard)).toEqual(METABASE_QUESTIONS.map(({ name }) => cardOf(name)?.id));
    expect(
      Object.values<Chart>(CHARTS)
        .map(({ title }) => title)
        .sort(),
    ).toEqual(METABASE_QUESTIONS.map(({ name }) => name).sort());
    expect(JSON.stringify(dashboard?.dashcards)).toMatch(
      new RegExp(HEADINGS.map((title) => `"text":"${title}"`).join('.*')),
    );
  });

  test('each page is a tab with its own charts', () => {
    const [dashboard] = metabase.dashboards;
    expect(dashboard?.tabs.map(({ name }) => name)).toEqual(TABS.map(({ title }) => title));
    for (const [i, { places }] of METABASE_INPUT.tabs.entries()) {
      const within = dashboard?.dashcards.filter((each) => each['dashboard_tab_id'] === dashboard.tabs[i]?.id);
      expect(within).toHaveLength(places.length);
    }
  });

  test('each filter reaches every question that has its tag, and takes its choices from a question', () => {
    const [dashboard] = metabase.dashboards;
    expect(dashboard?.parameters).toMatchObject([
      { id: 'environment', type: 'string/=', values_source_config: { card_id: cardOf('Choices: Environment')?.id } },
      { id: 'owner', type: 'string/=', values_source_config: { card_id: cardOf('Choices: Owner')?.id } },
      { id: 'tag', type: 'string/=', values_source_config: { card_id: cardOf('Choices: Tag')?.id } },
      { id: 'schema', type: 'string/=', values_source_config: { card_id: cardOf('Choices: Schema')?.id } },
      { id: 'from', type: 'date/single' },
      { id: 'to', type: 'date/single' },
    ]);
    for (const { name, template_tags } of METABASE_QUESTIONS) {
      const { id } = cardOf(name) ?? {};
      const dashcard = dashboard?.dashcards.find((each) => each['card_id'] === id);
      expect(dashcard?.['parameter_mappings']).toEqual(
        Object.keys(template_tags).map((tag) => ({
          ...{ parameter_id: tag, card_id: id },
          target: ['variable', ['template-tag', tag]],
        })),
      );
    }
  });

  test('the tags of a question are those of its query, in both dialects', () => {
    for (const { template_tags, sql } of QUESTIONS)
      for (const query of [sql.sqlite, sql.postgres]) {
        const named = [...query.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
        expect(named.sort()).toEqual(Object.keys(template_tags).sort());
      }
  });

  test.each([
    ['Failing tests by owner', 'owner', 'owner'],
    ['Failing tests by schema', 'schema', 'schema_name'],
  ])('a click on a bar of %s sets the filter of its axis', (title, filter, column) => {
    const { id } = cardOf(title) ?? {};
    const dashcard = metabase.dashboards[0]?.dashcards.find((each) => each['card_id'] === id);
    expect(dashcard?.['visualization_settings']).toMatchObject({
      click_behavior: {
        type: 'crossfilter',
        parameterMapping: { [filter]: { source: { id: column }, target: { type: 'parameter', id: filter } } },
      },
    });
  });

  test('the settings of a question refer only to columns of its query', () => {
    for (const question of METABASE_QUESTIONS) {
      const columns = answerColumnsOf(chartOf(question)).map(({ name }) => name);
      const settings = question.visualization_settings;
      const drawn = [settings['graph.dimensions'], settings['graph.metrics'], settings['scalar.field']].flat();
      const styled = Object.keys(settings['column_settings'] as object).map((key) => JSON.parse(key)[1]);
      const rules = (settings['table.column_formatting'] ?? []) as { columns: string[] }[];
      const named = [...drawn, ...styled, ...rules.flatMap((rule) => rule.columns)].filter(
        (name) => name !== undefined,
      );
      expect(columns).toEqual(expect.arrayContaining(named));
    }
  });

  test('a status has its colour in a cell and as a series, and only a number that should be 0 has one', () => {
    const settingsOf = (name: string) => cardOf(name)?.['visualization_settings'] as Record<string, unknown>;
    expect(settingsOf('List of failing tests')['table.column_formatting']).toContainEqual(
      expect.objectContaining({ columns: ['status'], operator: '=', value: 'FAIL', color: STATUS_COLORS.FAIL }),
    );
    const red = expect.objectContaining({ color: STATUS_COLORS.FAIL });
    expect(settingsOf('Incidents by day')['series_settings']).toMatchObject({ FAIL: red, fail: red });
    for (const question of METABASE_QUESTIONS)
      expect('scalar.segments' in question.visualization_settings).toBe('isBad' in chartOf(question));
  });

  test('a rate is in percent, hours have their unit, and a line has visible points', () => {
    const settingsOf = (name: string) => cardOf(name)?.['visualization_settings'];
    const shown = (column: string, settings: object) => ({ column_settings: { [`["name","${column}"]`]: settings } });
    expect(settingsOf('Pass rate')).toMatchObject(shown('pass_rate', { number_style: 'percent' }));
    expect(settingsOf('Hours since sync')).toMatchObject(shown('hours_since_sync', { suffix: ' h' }));
    for (const question of METABASE_QUESTIONS.filter(({ display }) => display === 'line'))
      expect(question.visualization_settings).toMatchObject({ 'line.marker_enabled': true });
  });

  test('a second run creates and changes nothing', async () => {
    const before = kept();
    const made = writes().length;
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(kept()).toEqual(before);
    expect(
      writes()
        .slice(made)
        .every((request) => /^PUT \/api\/(card|dashboard)\//.test(request)),
    ).toBe(true);
  });

  test('it restores what was changed or removed, and keeps what people have added or moved', async () => {
    const [dashboard] = metabase.dashboards;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    Object.assign(cardOf('Failing tests') ?? {}, { display: 'table' });
    const [first, second, , ...others] = dashboard.dashcards;
    const [tab] = dashboard.tabs;
    const theirMapping = { parameter_id: 'theirs', card_id: first?.['card_id'], target: ['variable', []] };
    const moved = { ...(first ?? {}), row: 99, parameter_mappings: [theirMapping] } as unknown as Dashcard;
    const place = { row: 120, col: 0, size_x: 4, size_y: 4, dashboard_tab_id: tab?.id };
    const theirs = { id: 1, card_id: 7, series: [{ id: 9 }], ...place } as unknown as Dashcard;
    dashboard.dashcards = [moved, second as Dashcard, theirs, ...others];
    const theirParameter = { id: 'theirs', name: 'Theirs', slug: 'theirs', type: 'string/=' };
    dashboard.parameters.splice(0, 1, theirParameter);
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(cardOf('Failing tests')).toMatchObject({ display: 'scalar' });
    expect(dashboard.parameters).toContainEqual(theirParameter);
    expect(dashboard.parameters).toHaveLength(7);
    expect(dashboard.dashcards.find(({ id }) => id === moved.id)?.['parameter_mappings']).toMatchObject([
      theirMapping,
      { parameter_id: 'environment' },
      ...['owner', 'tag', 'schema', 'from', 'to'].map((parameter_id) => ({ parameter_id })),
    ]);
    expect(dashboard.dashcards).toEqual(
      expect.arrayContaining([expect.objectContaining({ card_id: 7, row: 120, series: [{ id: 9 }] })]),
    );
    expect(dashboard.dashcards).toEqual(
      expect.arrayContaining([expect.objectContaining({ card_id: moved['card_id'], row: 99 })]),
    );
    expect(dashboard.dashcards).toHaveLength(METABASE_QUESTIONS.length + HEADINGS.length + 1);
    expect(metabase.cards).toHaveLength(QUESTIONS.length);
  });

  test('it adds missing items to the tab of their name, which it creates again, and keeps the tabs of others', async () => {
    const [dashboard] = metabase.dashboards;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    const [first, second] = dashboard.tabs;
    dashboard.tabs = [{ id: 31, name: 'theirs' }, first as Dashcard];
    dashboard.dashcards = dashboard.dashcards
      .filter((each) => each['dashboard_tab_id'] === first?.id)
      .slice(0, -1)
      .map((each) => ({ ...each, dashboard_tab_id: 31 }));
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(dashboard.tabs.map(({ name }) => name)).toEqual(['theirs', first?.name, second?.name]);
    const countIn = (i: number) =>
      dashboard.dashcards.filter((each) => each['dashboard_tab_id'] === dashboard.tabs[i]?.id).length;
    expect([countIn(1), countIn(2)]).toEqual([1, METABASE_INPUT.tabs[1]?.places.length]);
  });

  test('cards of a dashboard that had no tabs go to the first one', async () => {
    const [dashboard] = metabase.dashboards;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    dashboard.tabs = [];
    dashboard.dashcards = dashboard.dashcards.slice(0, 3).map((each) => ({ ...each, dashboard_tab_id: null }));
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(dashboard.dashcards.slice(0, 3).map((each) => each['dashboard_tab_id'])).toEqual(
      Array(3).fill(dashboard.tabs[0]?.id),
    );
  });

  test('its questions use the dialect of a PostgreSQL database', async () => {
    metabase.databases = [{ id: 6, name: 'warehouse', engine: 'postgres' }];
    expect(await runScript({ METABASE_DATABASE: 'warehouse' })).toMatchObject({ code: 0 });
    expect(metabase.cards).toMatchObject(
      QUESTIONS.map(({ sql }) => ({ dataset_query: { database: 6, native: { query: sql.postgres } } })),
    );
    for (const { sql } of QUESTIONS) expect(sql.postgres).toContain(` "${SCHEMA}".`);
  });

  test.each([
    ['an empty address', { METABASE_URL: '' }, /^metabase\.mjs: set METABASE_URL/],
    ['an invalid address', { METABASE_URL: 'metabase' }, /^metabase\.mjs: METABASE_URL is not a URL: correct it\n$/],
    ['an empty key', { METABASE_API_KEY: '' }, /^metabase\.mjs: set METABASE_API_KEY/],
    [
      'a wrong key',
      { METABASE_API_KEY: 'wrong' },
      /^metabase\.mjs: Metabase refused GET .* \(401\): check METABASE_API_KEY/,
    ],
    [
      'an unreachable server',
      { METABASE_URL: 'http://127.0.0.1:1' },
      /^metabase\.mjs: GET .* got no complete response .*: check METABASE_URL\n$/,
    ],
    [
      'a password in the address, which is not quoted',
      { METABASE_URL: 'http://user:PASSW0RD@127.0.0.1:1' },
      /^metabase\.mjs: METABASE_URL must not contain a user name or a password\n$/,
    ],
    [
      'an address that is not http',
      { METABASE_URL: 'ftp://127.0.0.1' },
      /^metabase\.mjs: METABASE_URL must begin with https/,
    ],
    [
      'plain http to another machine',
      { METABASE_URL: 'http://0.0.0.0:1' },
      /^metabase\.mjs: METABASE_URL is plain http, .*: use https, or set METABASE_ALLOW_HTTP to 1\n$/,
    ],
    [
      'an unreachable other machine over allowed plain http',
      { METABASE_URL: 'http://0.0.0.0:1', METABASE_ALLOW_HTTP: '1' },
      /^metabase\.mjs: GET .* got no complete response /,
    ],
    [
      'an unknown database',
      { METABASE_DATABASE: 'x' },
      /^metabase\.mjs: Metabase has no database x: .* one of warehouse, my\n$/,
    ],
    [
      'a database of an unsupported kind',
      { METABASE_DATABASE: 'my' },
      /^metabase\.mjs: the database my uses mysql: choose one that uses SQLite/,
    ],
  ])('exits 1 and changes nothing: %s', async (_, env, line) => {
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
      'a failure that quotes the key, which is masked',
      { status: 500, text: `no place for ${API_KEY}` },
      /answered 500 to GET .*: no place for …\n$/,
    ],
    [
      'a failure with terminal control characters, which are removed',
      { status: 500, text: 'one\n\u001b[31mtwo\u009bthree\u202e' },
      /answered 500 to GET .*: one \[31mtwo three\n$/,
    ],
    [
      'a long failure, truncated to 300 characters without any part of the key',
      { status: 500, text: `${'x'.repeat(290)}${API_KEY}${'y'.repeat(1000)}` },
      /answered 500 to GET api\/database: x{290}…y{9}\n$/,
    ],
    [
      'a response that is not JSON',
      { status: 200, text: '<html>' },
      /answered GET api\/database with something other than JSON: check METABASE_URL\n$/,
    ],
    ...['null', '{"data":{}}', '{}', '[null]', '7'].map(
      (text) =>
        [
          `a list of databases that is ${text}`,
          { status: 200, text },
          /answered GET api\/database with something other than a list: check METABASE_URL\n$/,
        ] as const,
    ),
    [
      'collections that are not a list',
      { status: 200, text: '{}', of: /collection$/ },
      /answered GET api\/collection with something other than a list/,
    ],
    [
      'items without data',
      { status: 200, text: '{"total":0}', of: /items$/ },
      /answered GET api\/collection\/\d+\/items.* with something other than a list/,
    ],
    [
      'a dashboard that is null',
      { status: 200, text: 'null', of: /GET .*dashboard/ },
      /answered GET api\/dashboard\/\d+ with no id/,
    ],
    [
      'a dashboard whose tabs are not a list',
      { status: 200, text: '{"id":7,"tabs":{}}', of: /GET .*dashboard/ },
      /answered GET api\/dashboard\/\d+ with something other than a list/,
    ],
    [
      'a truncated response',
      { status: 200, text: '{"data"', ending: 'cut' },
      /GET api\/database got no complete response .*: check METABASE_URL\n$/,
    ],
    [
      'a request that the key is not allowed to make',
      { status: 403, text: 'You may not', of: /PUT .*card/ },
      /refused PUT api\/card\/\d+ \(403\): check METABASE_API_KEY and its group\n$/,
    ],
    ['an empty list of databases', { status: 200, text: '{"data":[]}' }, /no database obsync: add it there\n$/],
  ] as const)('reports in one line: %s', async (_, failure, line) => {
    metabase.databases = [{ id: 5, name: 'obsync', engine: 'sqlite' }];
    metabase.failure = failure;
    const said = await runScript();
    expect(said).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
    expect(said.stderr).toMatch(/^[^\n]*\n$/);
    metabase.failure = null;
  });

  test('it follows no redirect, which would send the key to another address', async () => {
    const other = await startMetabase();
    metabase.failure = { status: 307, text: '', headers: { location: `${other.url}/api/database` } };
    expect(await runScript()).toMatchObject({ code: 1, stderr: expect.stringMatching(/got no complete response/) });
    expect(other.requests).toEqual([]);
    metabase.failure = null;
    await other.close();
  });

  test('a request times out after a minute', async () => {
    // Timeouts run a thousand times faster: a minute lasts 60 milliseconds.
    const faster = 'const wait = AbortSignal.timeout; AbortSignal.timeout = (ms) => wait.call(AbortSignal, ms / 1000);';
    const options = `--import="data:text/javascript,${encodeURIComponent(faster)}"`;
    metabase.failure = { status: 200, text: '', ending: 'hang' };
    expect(await runScript({ NODE_OPTIONS: options })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/got no complete response \(.*timeout\)/),
    });
    metabase.failure = null;
  });

  test('it says what to do if metabase.json is missing', async () => {
    const alone = folder();
    copyFileSync(join(to, 'metabase.mjs'), join(alone, 'metabase.mjs'));
    expect(await runScript({}, alone)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^metabase\.mjs: metabase\.json .* missing .*: run obsync bi metabase again\n$/),
    });
  });
});

describe('the script for Metabase, with a fresh Metabase per test', () => {
  beforeEach(async () => {
    metabase = await startMetabase();
  });
  afterEach(() => metabase.close());

  test('it finds its questions in a collection of several pages', async () => {
    expect(await runScript()).toMatchObject({ code: 0 });
    const collection_id = metabase.collections[1]?.id;
    const theirs = Array.from({ length: 450 }, (_, i) => ({ id: 1000 + i, name: `theirs ${i}`, collection_id }));
    metabase.cards.unshift(...theirs);
    // Once off the dashboard, they are found only through the items.
    for (const dashboard of metabase.dashboards) dashboard.dashcards = [];
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(theirs.length + QUESTIONS.length);
    expect(metabase.dashboards).toHaveLength(1);
  });

  test('after a failure midway, the next run completes the rest without duplicates', async () => {
    metabase.failure = { status: 500, text: 'down', of: /PUT .*dashboard/ };
    expect(await runScript()).toMatchObject({ code: 1, stderr: expect.stringMatching(/answered 500 to PUT/) });
    metabase.failure = null;
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(QUESTIONS.length);
    expect(metabase.collections.filter(({ location }) => location === '/')).toHaveLength(1);
    expect(metabase.dashboards).toMatchObject([{ dashcards: { length: METABASE_QUESTIONS.length + HEADINGS.length } }]);
  });

  test('it finds a question that was moved to another collection', async () => {
    expect(await runScript()).toMatchObject({ code: 0 });
    Object.assign(cardOf('Failing tests') ?? {}, { collection_id: 1 });
    const before = structuredClone(metabase.dashboards);
    expect(await runScript()).toMatchObject({ code: 0 });
    expect(metabase.cards).toHaveLength(QUESTIONS.length);
    expect(metabase.dashboards).toEqual(before);
  });
});
