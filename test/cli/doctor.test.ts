import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { type CheckReport, doctor } from '../../src/index.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import type { ScriptedStep } from '../support/api-server.ts';
import { temporarySchema, testSchema } from '../support/postgres.ts';
import { startProxyServer } from '../support/proxy-server.ts';
import { serveWorld } from '../support/world-server.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, TOKEN } from './setup.ts';

/** A service with one environment. @returns the settings of its user */
async function setUp(quota?: () => Readonly<Record<string, string>>) {
  const world = createWorld(['e1']);
  world.nowMs = Date.now();
  for (const place of world.environments.values()) furnish(place);
  const server = await serveWorld(world, quota);
  onTestFinished(() => server.close());
  return { server, cwd: folder(), env: { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN } };
}

async function setUpScript(...steps: ScriptedStep[]) {
  const server = await apiServer(...steps);
  return { server, env: { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN } };
}

/** The checks that are not ok, and the rest of the document. */
async function examine(args: readonly string[], where: Parameters<typeof obsync>[1]) {
  const { code, stdout, stderr } = await obsync(['doctor', '--json', ...args], where);
  const { checks, ...report } = JSON.parse(stdout) as { checks: CheckReport[]; status: string; requests: number };
  const notOk = checks.filter(({ status }) => status !== 'ok');
  return { code, stderr, ...report, checks, found: Object.fromEntries(notOk.map((each) => [each.check, each.text])) };
}

describe('obsync doctor', () => {
  test('it finds nothing wrong before the first sync, prints a line per check, and creates no mirror', async () => {
    const { server, cwd, env } = await setUp();
    const { code, stdout, stderr } = await obsync(['doctor'], { cwd, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.slice(0, line.indexOf(':')))).toEqual([
      ...['version', 'token', 'address', 'proxy', 'mirror', 'permissions', 'file system', 'disk'].map(
        (name) => `ok       ${name}`,
      ),
      ...['service', 'environments', 'scopes', 'clock', 'quota'].map((name) => `ok       ${name}`),
    ]);
    expect(readdirSync(cwd)).toEqual([]);
    expect(stdout).not.toContain(TOKEN);
    expect(server.requests.map(({ target }) => target)).toEqual([
      '/public/beta/environments',
      '/public/beta/e1/assets?limit=1',
      '/public/beta/e1/tests?limit=1',
      '/public/beta/e1/asset-health-scores?limit=1',
    ]);
  });

  test('it finds nothing wrong with a mirror in use either', async () => {
    const { cwd, env } = await setUp();
    await obsync(['sync'], { cwd, env });
    expect(await examine([], { cwd, env })).toMatchObject({ code: 0, status: 'ok', requests: 4, found: {} });
  });

  test('without a token and a base URL, it says what is missing, checks the rest, and exits 1', async () => {
    expect(await examine([], {})).toMatchObject({
      code: 1,
      status: 'problem',
      requests: 0,
      found: {
        token: expect.stringMatching(/^no access token/),
        address: expect.stringMatching(/^no base URL/),
        service: expect.stringMatching(/^fix the problems above/),
      },
    });
  });

  test('if the network fails, all checks that need none are still made, and no request is repeated', async () => {
    const { env, server } = await setUpScript('reset');
    const { code, checks, found } = await examine([], { env });
    expect(code).toBe(1);
    expect(checks.slice(0, 8).map(({ status }) => status)).toEqual(Array(8).fill('ok'));
    expect(Object.keys(found)).toEqual(['service', 'environments', 'scopes', 'clock', 'quota']);
    expect(server.requests).toHaveLength(1);
  });

  test('--timeout limits each request', async () => {
    const { env } = await setUpScript('hang');
    const { code, found } = await examine(['--timeout', '0.1'], { env });
    expect({ code, found }).toMatchObject({ code: 1, found: { service: expect.stringMatching(/in time/) } });
  });

  test('it exits 3 if the service refuses the token, and never prints the token (R25)', async () => {
    const message = `no user has ${TOKEN}`;
    const { env } = await setUpScript({ status: 401, body: { error: { code: 'unauthenticated', message } } });
    const report = await examine([], { env });
    expect(report).toMatchObject({ code: 3, status: 'refused', requests: 1 });
    expect(JSON.stringify(report)).not.toContain(TOKEN);
  });

  test.each([
    ['a wrong number', ['--timeout', 'x'], /--timeout needs a number/],
    ['a wrong base URL', ['--base-url', 'nowhere'], /The base URL is not a URL/],
    ['a wrong address', ['--db', 's3://b/k'], /a mirror is a file or in PostgreSQL/],
    ['an unknown option', ['--nope'], /unknown option: --nope/],
  ])('it refuses %s with exit code 2', async (_, args, reason) => {
    expect(await obsync(['doctor', ...args], { env: { OBSYNC_TOKEN: TOKEN } })).toEqual(refusal(reason));
  });

  test('a list that the token may not read is a problem, and one that is not live a warning', async () => {
    const world = createWorld(['e1']);
    world.nowMs = Date.now();
    const recoveries = new Map([
      ['tests', 'forbidden'],
      ['asset-health-scores', 'not-live'],
    ] as const);
    const source = world.source();
    const server = await serveWorld({
      ...world,
      nowMs: world.nowMs,
      source: () => ({
        ...source,
        async page(request) {
          const recovery = recoveries.get(request.path[1] as 'tests');
          if (recovery !== undefined) throw new SyncError(recovery, 'no');
          return source.page(request);
        },
      }),
    });
    onTestFinished(() => server.close());
    const env = { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN };
    const denied = await examine([], { env });
    expect(denied).toMatchObject({ code: 1, found: { scopes: 'the token may not read tests of env e1' } });
    recoveries.delete('tests');
    const away = await examine([], { env });
    expect(away).toMatchObject({ code: 0, status: 'warning' });
    expect(away.found['scopes']).toBe('not live at the service (404): asset_health_scores');
  });

  test('it stays within the quota, and does not wait for minutes (R23)', async () => {
    const spent = {
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '600',
      'retry-after': '600',
    };
    const body = { error: { code: 'rate_limited', message: '' } };
    const { env } = await setUpScript(
      { body: [{ id: 'e1', name: 'E' }], headers: spent },
      { status: 429, headers: spent, body },
    );
    const first = await examine([], { env });
    expect(first).toMatchObject({ code: 0, status: 'warning', requests: 1 });
    expect(first.found).toEqual({
      scopes: 'unknown: the quota is used up',
      quota: expect.stringMatching(/^0 of 1 requests left for \d+ s/),
    });
    const second = await examine([], { env });
    expect(second).toMatchObject({ code: 0, status: 'warning', requests: 1 });
    expect(second.found['quota']).toMatch(/used up/);
    expect(second.found['service']).toMatch(/: the quota is used up/);
  });

  test('a service that takes a minute to answer is no reason to doubt the clock', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const world = createWorld(['e1']);
    const server = await serveWorld(world, undefined, () => {
      vi.setSystemTime(Date.now() + 60_000);
      world.nowMs = Date.now();
      return undefined;
    });
    onTestFinished(() => server.close());
    const env = { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN };
    const { checks } = await examine([], { env });
    expect(checks.find(({ check }) => check === 'clock')).toMatchObject({ status: 'ok' });
  });

  test('a clock that differs by hours is a warning', async () => {
    const { env } = await setUpScript({
      body: [{ id: 'e1', name: 'E' }],
      headers: { date: 'Mon, 01 Jun 2026 00:00:00 GMT' },
    });
    expect((await examine([], { env })).found['clock']).toMatch(/^this machine's clock is \d{4,} s /);
  });

  test('a token file that all users can read, a damaged mirror and one of another service are found', async () => {
    const { cwd, env } = await setUp();
    writeFileSync(join(cwd, 'token'), TOKEN);
    chmodSync(join(cwd, 'token'), 0o644);
    writeFileSync(join(cwd, 'text.db'), 'text');
    const own = { OBSYNC_BASE_URL: env.OBSYNC_BASE_URL };
    const first = await examine(['--token-file', 'token', '--db', 'text.db'], { cwd, env: own });
    expect(first).toMatchObject({
      code: 1,
      stderr: '',
      found: { token: expect.stringMatching(/^every user/), mirror: expect.stringMatching(/is not an SQLite file/) },
    });
    const db = mirrorFile(undefined, 'https://other.example.com');
    const second = await examine(['--db', db], { cwd, env });
    expect(second.found['mirror']).toMatch(/belongs to https:\/\/other\.example\.com, not to/);
    expect(existsSync(`${db}.lock`)).toBe(false);
  });

  test('it names the proxy without its password', async () => {
    const proxy = await startProxyServer('ann:secret');
    onTestFinished(() => proxy.close());
    const { env } = await setUp();
    const where = { env: { ...env, HTTP_PROXY: `http://ann:secret@${proxy.host}` } };
    const { checks, code } = await examine([], where);
    expect(code).toBe(0);
    expect(checks.find(({ check }) => check === 'proxy')?.text).toBe(proxy.host);
    expect(proxy.requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(checks)).not.toContain('secret');
  });

  test('a state folder that cannot be written is a warning, because the quota is then not shared', async () => {
    const { cwd, env } = await setUp();
    writeFileSync(join(cwd, 'file'), '');
    const before = process.env['XDG_STATE_HOME'];
    const where = { cwd, env: { ...env, XDG_STATE_HOME: join(cwd, 'file') } };
    const { found } = await examine([], where);
    process.env['XDG_STATE_HOME'] = before;
    expect(found['quota']).toMatch(/^each process counts for itself: /);
  });

  test('of a missing folder, it says so', async () => {
    const { cwd, env } = await setUp();
    mkdirSync(join(cwd, 'there'));
    const { code, found, checks } = await examine(['--db', join(cwd, 'none', 'm.db')], { env });
    expect({ code, found: Object.keys(found) }).toEqual({ code: 1, found: ['permissions'] });
    expect(checks.map(({ check }) => check)).not.toContain('mirror');
  });
});

describe('obsync doctor with PostgreSQL', () => {
  test('it checks connection, version, encoding and permissions, before the mirror exists and with one', async () => {
    const { env, cwd } = await setUp();
    const { url } = await temporarySchema();
    const where = { cwd, env: { ...env, OBSYNC_DB: url } };
    const empty = await examine([], where);
    expect(empty).toMatchObject({ code: 0, found: {} });
    expect(empty.checks.find(({ check }) => check === 'database')?.text).toMatch(/^PostgreSQL \d+.*, UTF8, as \w+/);
    await obsync(['sync'], where);
    const synced = await examine([], where);
    expect(synced).toMatchObject({ code: 0, found: {} });
    expect(synced.checks.map(({ check }) => check)).not.toContain('disk');
    expect(JSON.stringify([empty, synced])).not.toContain(decodeURIComponent(new URL(url).password));
  });

  test('a user who may not create the schema is a problem', async () => {
    const { env } = await setUp();
    const { url, ask, drop } = await testSchema();
    const role = `reader_${Math.random().toString(36).slice(2)}`;
    await ask(`create role ${role} login password 'secret'`);
    onTestFinished(async () => {
      await ask(`drop role ${role}`);
      await drop();
    });
    const address = new URL(url);
    [address.username, address.password] = [role, 'secret'];
    const { code, found, checks } = await examine([], { env: { ...env, OBSYNC_DB: address.href } });
    expect(code).toBe(1);
    expect(found['database']).toMatch(/this user may not create/);
    expect(JSON.stringify(checks)).toContain(`authorization \\"${role}\\"`);
  });

  test('a server that cannot be reached is one problem, and the service is asked anyway', async () => {
    const { env } = await setUp();
    const { code, found, requests } = await examine(['--db', 'postgres://127.0.0.1:1/none?sslmode=disable'], { env });
    expect({ code, requests, found }).toEqual({
      code: 1,
      requests: 4,
      found: { database: expect.stringMatching(/nothing listens there/) },
    });
  });
});

describe('doctor() of the library', () => {
  test('it returns what the command prints, and sends each check as an event', async () => {
    const { server, cwd } = await setUp();
    const events: string[] = [];
    const report = await doctor({
      baseUrl: server.url,
      token: TOKEN,
      db: join(cwd, 'm.db'),
      onProgress: ({ type, check }) => events.push(`${type} ${check}`),
    });
    expect(report).toMatchObject({ status: 'ok', requests: 4 });
    expect(events).toEqual(report.checks.map(({ check }) => `check ${check}`));
  });
});
