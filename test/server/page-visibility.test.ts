import { describe, expect, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { fillWorld, keepOnly, keepOnlyEnvironment, TEAM, UNKNOWN } from '../page-data/world.ts';
import { bearer, NOW, restricted, type Served, serve } from './fixture.ts';

const FEW = ['m1', 'm4', UNKNOWN];
const KEYS = [
  restricted('all', {}),
  restricted('team-by-path', { paths: ['team'] }),
  restricted('team-by-id', { assetIds: TEAM }),
  restricted('few', { assetIds: FEW }),
  restricted('nothing', { assetIds: [] }),
  restricted('e', { environments: new Set(['e']) }),
  restricted('f', { environments: new Set(['f']) }),
  restricted('nowhere', { environments: new Set() }),
  restricted('assets', { scopes: new Set(['assets']) }),
  restricted('tests', { scopes: new Set(['tests']) }),
  restricted('no-scope', { scopes: new Set() }),
];

const open = (...fills: ((writing: MirrorFile) => void)[]): Served =>
  serve(
    (writing) => {
      for (const fill of [fillWorld, ...fills]) fill(writing);
    },
    { keys: () => KEYS },
  );

/** As if the account had reported a quota and the mirror had been verified. */
function fillAccount({ connection }: MirrorFile): void {
  connection.exec(`
    update mirror set quota_limit = 5000, quota_window_seconds = 3600, quota_remaining = 4321, quota_noted_at = '${NOW}';
    insert into verifications (ended_at, depth, equal, difference_count) values ('${NOW}', 'rows', 0, 3)`);
}

const whole = open(fillAccount);

async function ask({ server }: Served, name: string, path: string) {
  const answer = await (await server).inject({ url: `/page/${path}`, headers: bearer(name) });
  return { status: answer.statusCode, body: answer.json() };
}

const ASSETS = [...TEAM, 'o1', 'o2', 'o4', 'odash', UNKNOWN, 'nobody'];
const COLUMNS = ['m1:id', 'm4:id', 'o1:id', 'mdash:id', 'm1:NAME', 'nobody:id'];
const ABOUT_ASSETS = [
  ...['m', 'o', 'team', 'name of', 'dash'].map((text) => `search?q=${encodeURIComponent(text)}`),
  ...ASSETS.flatMap((id) => [`asset?id=${id}`, `columns?asset_id=${id}`, `node?id=${id}`]),
  ...ASSETS.flatMap((id) => ['upstream', 'downstream'].map((way) => `neighbours?id=${id}&direction=${way}`)),
  ...COLUMNS.flatMap((id) => [
    `node?of=columns&id=${id}`,
    `neighbours?of=columns&id=${id}&direction=upstream`,
    `neighbours?of=columns&id=${id}&direction=downstream&limit=1`,
  ]),
];
const ABOUT_TESTS = [
  'failing',
  'failing?limit=2&offset=1',
  ...['', 'by=owner', 'by=schema', 'by=test_type', 'by=tag&days=5'].map((query) => `trends?${query}`),
  'untested',
  'untested?all=true&limit=3',
];
const VIEWS = [...ABOUT_TESTS, ...ABOUT_ASSETS].map((view) => `environments/e/${view}`);

describe.each([
  { name: 'team-by-path', seen: TEAM },
  { name: 'team-by-id', seen: TEAM },
  { name: 'few', seen: FEW },
  { name: 'nothing', seen: [] },
])('the page for a token of some assets: $name (authentication rule 6)', ({ name, seen }) => {
  const part = open((writing) => keepOnly(writing, seen));

  test.each(VIEWS)('%s shows it no trace of other assets', async (view) => {
    expect(await ask(whole, name, view)).toEqual(await ask(part, 'all', view));
  });

  test('mirror shows it no trace of other assets, however the streams were read', async () => {
    const { body } = await ask(whole, name, 'mirror');
    const others = open(({ connection }) =>
      connection.exec(`update sync_runs set status = 'done', error = null, requests = 0, ended_at = '${NOW}';
          update sync_stream_runs set status = 'done', error = null, mode = 'feed', ended_at = '${NOW}';
          delete from rejected_rows; delete from held_removals; delete from test_execution_gaps;
          delete from assets where id like 'o%'`),
    );
    expect(body).toEqual((await ask(others, name, 'mirror')).body);
    expect(body).toMatchObject({ limited_to: 'assets', last_run: null, last_verify: null, quota: null });
  });
});

describe('the page for a token of some environments (authentication rule 5)', () => {
  const part = open(keepOnlyEnvironment);

  test.each(['mirror', ...VIEWS])('%s shows it no trace of other environments', async (view) => {
    expect(await ask(whole, 'e', view)).toEqual(await ask(part, 'e', view));
  });

  test('the last sync has the problems of visible streams only', async () => {
    const { body } = await ask(whole, 'e', 'mirror');
    expect(body).toMatchObject({
      limited_to: 'streams',
      last_run: { run: 1, status: 'problems', requests: null, error: null },
      ...{ last_verify: null, quota: null },
    });
  });

  test('requests about another environment are refused', async () => {
    for (const view of VIEWS) expect(await ask(whole, 'f', view)).toMatchObject({ status: 403 });
    expect((await ask(whole, 'nowhere', 'mirror')).body).toMatchObject({ environments: [], last_run: null });
    expect(JSON.stringify((await ask(whole, 'e', 'mirror')).body)).not.toContain('f: away');
  });
});

describe('the page for a token without some scopes (authentication rule 5)', () => {
  test('failing tests, trends and coverage need both scopes', async () => {
    for (const name of ['assets', 'tests'])
      for (const view of ABOUT_TESTS)
        expect(await ask(whole, name, `environments/e/${view}`)).toMatchObject({ status: 403 });
  });

  test('assets are shown without their tests', async () => {
    for (const view of ABOUT_ASSETS)
      expect(await ask(whole, 'tests', `environments/e/${view}`)).toMatchObject({ status: 403 });
    const { body } = await ask(whole, 'assets', 'environments/e/asset?id=m1');
    expect(body).toMatchObject({ tests: null, test_count: null });
    const node = await ask(whole, 'assets', 'environments/e/node?id=m1');
    expect(node.body).toMatchObject({ status: null, failing_count: 0, upstream_count: 2 });
    const columns = await ask(whole, 'assets', 'environments/e/columns?asset_id=m1');
    expect(columns.body.rows[0]).toMatchObject({ tests: null });
  });

  test('the mirror view has only the streams of the token’s scopes', async () => {
    const { body } = await ask(whole, 'assets', 'mirror');
    const names = body.environments[0].streams.map(({ stream }: { stream: string }) => stream);
    expect(names).toContain('columns');
    expect(names.join()).not.toContain('test');
    expect(body.environments[0].denied_scopes).toEqual(['tests']);
  });

  test('the last sync covers only the token’s scopes, and verify and quota are hidden', async () => {
    const hidden = { limited_to: 'streams', last_verify: null, quota: null };
    expect((await ask(whole, 'assets', 'mirror')).body).toMatchObject({
      ...hidden,
      last_run: { run: 2, status: 'problems', requests: null, error: null },
    });
    for (const name of ['tests', 'no-scope'])
      expect((await ask(whole, name, 'mirror')).body).toMatchObject({ ...hidden, last_run: null });
    expect((await ask(whole, 'all', 'mirror')).body).toMatchObject({
      limited_to: null,
      last_run: { run: 2, status: 'problems', requests: 2, error: 'f: away' },
      last_verify: { equal: false, difference_count: 3 },
      quota: { limit: 5000, remaining: 4321 },
    });
  });
});

test('the fixture has something to hide in every view', async () => {
  for (const view of ABOUT_TESTS.map((each) => `environments/e/${each}`))
    expect(await ask(whole, 'all', view)).not.toEqual(await ask(whole, 'team-by-path', view));
});
