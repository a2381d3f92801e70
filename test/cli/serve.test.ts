import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { mirror as mirrorTable } from '../../schema/sync.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { EMPTY_PAGE } from '../support/api-server.ts';
import { largeMirror, manyTables, refused, SERVE_TOKEN, type Serving, serving, withEnvironment } from './serving.ts';
import { apiServer, folder, mirrorFile, obsync, start, TOKEN } from './setup.ts';

const AT = '2026-11-20T04:10:00.000000Z';
const BETA = '/public/beta';
const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');

async function asking(url: string, path: string): Promise<{ socket: Socket; first: Buffer }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${SERVE_TOKEN}\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  return { socket, first };
}

describe('obsync serve', () => {
  const db = mirrorFile(withEnvironment);
  const tokens = join(folder(), 'tokens.json');
  const grant = (...names: string[]) =>
    writeFileSync(tokens, JSON.stringify(names.map((name) => ({ name, token_sha256: sha256(name) }))));
  let server: Serving;
  beforeAll(async () => {
    grant('first-token');
    server = await serving(['--tokens', tokens, '--db', db], { whenDone: afterAll });
  });
  const entering = async (...given: string[]) =>
    Promise.all(given.map(async (token) => (await server.get(`${BETA}/environments`, token)).status));

  test('it prints its base URL on loopback and a free port, and answers there', async () => {
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    const answer = await server.get(`${BETA}/environments`);
    expect(answer).toEqual({ status: 200, body: [{ id: 'e1', name: 'Production' }] });
  });

  test('its health and the age of the last sync need no token, its metrics do', async () => {
    expect(await server.get('/healthz', null)).toEqual({
      status: 200,
      body: { status: 'up', last_sync_age_seconds: null },
    });
    expect((await server.get('/metrics', null)).status).toBe(401);
    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${SERVE_TOKEN}` } });
    expect(await metrics.text()).toContain('obsync_mirror_rows{stream="assets"} 0');
  });

  test('it accepts only the tokens of OBSYNC_SERVE_TOKEN and --tokens', async () => {
    grant('first-token');
    expect(await entering(SERVE_TOKEN, 'first-token', 'other-token', sha256('first-token'))).toEqual([
      200, 200, 401, 401,
    ]);
  });

  test('SIGHUP reloads the tokens: the new one is accepted, the old one refused', async () => {
    grant('second-token', 'third-token');
    server.kill('SIGHUP');
    await server.logged('was reloaded: 3 tokens');
    expect(await entering('first-token', 'second-token', 'third-token', SERVE_TOKEN)).toEqual([401, 200, 200, 200]);
  });

  test('it warns of a token whose environment is not in the mirror, because it would see nothing', async () => {
    const names = ['misled', 'fourth-token', 'fifth-token', 'sixth-token'];
    const entries = names.map((name) => ({ name, token_sha256: sha256(name), environments: ['e1'] }));
    entries[0]?.environments.push('Production');
    writeFileSync(tokens, JSON.stringify(entries));
    server.kill('SIGHUP');
    await server.logged('token misled: the mirror has no environment with the id Production');
    expect(server.stderr()).not.toContain('with the id e1');
  });

  test('a broken token file keeps the old tokens, logs one line, and SIGHUP still works', async () => {
    grant('kept-token');
    server.kill('SIGHUP');
    await server.logged('was reloaded: 2 tokens');
    const before = server.stderr().length;
    writeFileSync(tokens, 'a-secret-token');
    server.kill('SIGHUP');
    await server.logged('the tokens were not reloaded');
    expect(await entering('kept-token', SERVE_TOKEN)).toEqual([200, 200]);
    const lines = server.stderr().slice(before).split('\n');
    expect(lines[0]).toMatch(/ERROR: the tokens were not reloaded: .*tokens\.json: it is not JSON/);
    for (const line of lines.slice(1, -1)) expect(line).toMatch(/INFO: (more )?request/);
    grant('last-token', 'fourth-token', 'fifth-token');
    server.kill('SIGHUP');
    await server.logged('was reloaded: 4 tokens');
    expect(await entering('kept-token', 'last-token')).toEqual([401, 200]);
  });

  test('an empty token file keeps the old tokens', async () => {
    const alone = join(folder(), 'tokens.json');
    writeFileSync(alone, JSON.stringify([{ name: 'kept-token', token_sha256: sha256('kept-token') }]));
    const args = ['serve', '--tokens', alone, '--db', mirrorFile(), '--port', '0'];
    const started = start(args);
    await started.logged('serving');
    writeFileSync(alone, '[]');
    started.kill('SIGHUP');
    await started.logged('the tokens were not reloaded: no token would be accepted');
    started.kill('SIGTERM');
    expect((await started.ended).stderr).toContain('the tokens were not reloaded: no token would be accepted: ');
  });

  test('it serves each page of a concurrent sync as soon as it is committed', async () => {
    const item = (id: string) => ({ id, name: id, kind: 'other', source_type: 'dbt', synced_at: AT });
    const held = Promise.withResolvers<void>();
    const api = await apiServer(
      { body: [{ id: 'e1', name: 'Production' }] },
      { body: { items: [item('a'), item('b')], has_more: true, next_cursor: 'more' } },
      async () => {
        await held.promise;
        return { body: { items: [item('c')], has_more: false } };
      },
      { body: EMPTY_PAGE },
    );
    const mirror = openForWriting(db);
    mirror.db.update(mirrorTable).set({ base_url: api.url }).run();
    mirror.connection.close();
    const shown = async () => (await server.get(`${BETA}/e1/assets`)).body.items.map(({ id }: { id: string }) => id);
    expect(await shown()).toEqual([]);
    const args = ['sync', '--base-url', api.url, '--db', db, '--stream', 'assets'];
    const syncing = obsync(args, { env: { OBSYNC_TOKEN: TOKEN } });
    await api.received(3);
    expect(await shown()).toEqual(['a', 'b']);
    held.resolve();
    expect(await syncing).toMatchObject({ code: 0 });
    expect(await shown()).toEqual(['a', 'b', 'c']);
    expect((await server.get('/healthz')).body).toEqual({ status: 'up', last_sync_age_seconds: expect.any(Number) });
  });

  test('it logs one line per request with a token on stderr, and never a token', async () => {
    const server = await serving(['--db', db]);
    const paths = [
      `${BETA}/e1/assets`,
      '/nothing',
      `${BETA}/e1/assets?token=${SERVE_TOKEN}`,
      `/%zz?token=${SERVE_TOKEN}`,
    ];
    for (const path of paths) await server.get(path);
    await server.get(`${BETA}/e1/tests?access_token=a-stranger-token`, 'a-stranger-token');
    await server.logged('/e1/tests');
    const lines = server.stderr().trimEnd().split('\n').slice(-5);
    expect(lines.map((line) => JSON.parse(/INFO: request (.*)$/.exec(line)?.[1] ?? 'null'))).toMatchObject([
      { method: 'GET', path: paths[0], reader: 'OBSYNC_SERVE_TOKEN', status: 200, ms: expect.any(Number) },
      { path: '/nothing', status: 404 },
      { path: paths[0], status: 422 },
      { path: '/%zz', status: 400 },
      { path: `${BETA}/e1/tests`, reader: null, status: 401 },
    ]);
    expect(server.stderr()).not.toMatch(new RegExp(`${SERVE_TOKEN}|stranger-token|secret-token`));
  });

  test('it prints only its base URL on stdout, and exits 130 on SIGINT', async () => {
    server.kill('SIGINT');
    expect(await server.ended).toMatchObject({ code: 130, stdout: `${server.url}\n` });
  });
});

test('on SIGTERM serve closes idle connections, finishes a large answer to a slow client, and exits 143', async () => {
  const server = await serving(['--db', largeMirror()]);
  const idle = await asking(server.url, '/healthz');
  const { socket, first } = await asking(server.url, `${BETA}/e1/assets?limit=2000`);
  socket.pause();
  server.kill('SIGTERM');
  await refused(server.url);
  const answer = Buffer.concat([first, ...(await socket.toArray())]);
  const head = answer.subarray(0, answer.indexOf('\r\n\r\n')).toString();
  expect(answer.length - head.length - 4).toBe(Number(/content-length: (\d+)/i.exec(head)?.[1]));
  expect(answer.length).toBeGreaterThan(10_000_000);
  await idle.socket.toArray();
  expect(await server.ended).toMatchObject({ code: 143, stdout: `${server.url}\n` });
});

test('on SIGTERM heavy requests, running or queued, delay the exit of serve only up to a time limit', async () => {
  const server = await serving(['--db', manyTables(), '--rate-limit', 'off']);
  const heavy = `${BETA}/e1/asset-health-scores/aggregate?path=models`;
  expect((await server.get(heavy)).status).toBe(200);
  const asked = Array.from({ length: 250 }, () => server.get(heavy).then(({ status }) => status));
  const settled = Promise.allSettled(asked);
  expect(await Promise.any(asked)).toBe(200);
  expect((await server.get('/healthz')).status).toBe(200);
  server.kill('SIGTERM');
  const { code, stdout } = await server.ended;
  // On a busy machine a single read may exceed the time limit: then the signal itself ends the process.
  const isAmidRead = server.stderr().includes('stopped in the middle of a long read');
  expect({ code, stdout }).toEqual({ code: isAmidRead ? null : 143, stdout: `${server.url}\n` });
  const cut = (await settled).filter(({ status }) => status === 'rejected');
  // Otherwise all requests were answered before the exit, and the time limit was not tested.
  expect(cut.length).toBeGreaterThan(0);
  expect(server.stderr()).not.toMatch(/ERROR|unhandled/i);
});

test('on SIGTERM the signal itself ends serve if a read exceeds the time limit', async () => {
  const server = await serving(['--db', manyTables('deep/'.repeat(200)), '--rate-limit', 'off']);
  const heavy = server.get(`${BETA}/e1/asset-health-scores/aggregate?path=models`).catch(() => 'cut off');
  await Promise.all([server.get(`${BETA}/environments`), server.get(`${BETA}/environments`)]);
  server.kill('SIGTERM');
  expect(await heavy).toBe('cut off');
  const stderr = expect.stringContaining('obsync: stopped in the middle of a long read\n');
  expect(await server.ended).toMatchObject({ code: null, stdout: `${server.url}\n`, stderr });
});
