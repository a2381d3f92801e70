import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { takeLock } from '../../state/lock.ts';
import { EMPTY_PAGE } from '../support/api-server.ts';
import { startProxyServer } from '../support/proxy-server.ts';
import { CA_FILE, startTlsServer } from '../support/tls-server.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, start, TOKEN } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN };
const ERROR_401 = { status: 401, body: { error: { code: 'unauthenticated', message: `no such token: ${TOKEN}` } } };

/** A mirror that belongs to this server. */
const mirrorOf = (url: string) => mirrorFile(undefined, url);

/** Corrupts the pages of the assets table and of its checkpoint. */
function damage(path: string): void {
  const file = new Database(path);
  file.pragma('wal_checkpoint(truncate)');
  const size = Number(file.pragma('page_size', { simple: true }));
  const pages = file
    .prepare("select rootpage from sqlite_schema where tbl_name in ('assets', 'sync_checkpoints') and rootpage > 0")
    .pluck();
  const roots = pages.all() as number[];
  file.close();
  const bytes = openSync(path, 'r+');
  for (const root of roots) writeSync(bytes, Buffer.alloc(size, 0xff), 0, size, (root - 1) * size);
  closeSync(bytes);
}

/** The options for a service and its unreadable mirror. */
async function damagedMirror() {
  const api = await apiServer({ body: [{ id: 'e1', name: 'Production' }] });
  const row = { id: 'e1', name: 'Production', mirrored_at: '' };
  const db = mirrorFile((file) => file.db.insert(environments).values(row).run(), api.url);
  damage(db);
  return { db, where: ['--base-url', api.url, '--db', db] };
}

describe('obsync sync', () => {
  test('it exits 3 after one request if the token is refused, without a mirror and without printing the token', async () => {
    const api = await apiServer(ERROR_401);
    const cwd = folder();
    const { code, stdout, stderr } = await obsync(['sync', '--base-url', api.url], { cwd, env });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^obsync: .*401.*The token in OBSYNC_TOKEN is refused.*\n$/);
    expect(stderr).not.toContain(TOKEN);
    expect(api.requests).toHaveLength(1);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('it exits 4 before any request while another process has the lock of the mirror, and names the process', async () => {
    const api = await apiServer(ERROR_401);
    const db = mirrorOf(api.url);
    const lock = takeLock(db);
    const { code, stderr } = await obsync(['sync', '--base-url', api.url, '--db', db], { env });
    lock.release();
    const holder = existsSync('/proc/locks') ? ` (process ${process.pid})` : '';
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `obsync: another sync${holder} is using ${db}: wait until it has ended, or stop it\n`,
    });
    expect(api.requests).toHaveLength(0);
  });

  test('it exits 2 before any request if the mirror belongs to another base URL', async () => {
    const api = await apiServer(ERROR_401);
    const db = mirrorFile();
    const ended = await obsync(['sync', '--base-url', api.url, '--db', db], { env });
    expect(ended).toEqual(
      refusal(/m\.db belongs to https:\/\/api\.example\.com, not to http:\/\/127.*name another mirror with --db/),
    );
    expect(api.requests).toHaveLength(0);
  });

  test('it exits 2 if a selected environment is not listed, without creating a mirror', async () => {
    const api = await apiServer({ body: [{ id: 'e1', name: 'Production' }] });
    const cwd = folder();
    const ended = await obsync(['sync', '--base-url', api.url, '--env', 'Nope'], { cwd, env });
    expect(ended).toEqual(refusal(/no environment Nope: the token sees e1 \(Production\)/));
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('it records no run in an existing mirror if a selected environment is not listed', async () => {
    const api = await apiServer({ body: [{ id: 'e1', name: 'Production' }] });
    const db = mirrorOf(api.url);
    const ended = await obsync(['sync', '--base-url', api.url, '--db', db, '--env', 'nope'], { env });
    expect(ended).toEqual(refusal(/no environment nope/));
    expect((await obsync(['query', 'select count(*) as runs from sync_runs', '--db', db])).stdout).toBe('runs\n0\n');
  });

  test('it says in which file a refused token was found', async () => {
    const api = await apiServer(ERROR_401);
    const file = join(folder(), 'token');
    writeFileSync(file, TOKEN, { mode: 0o600 });
    const ended = await obsync(['sync', '--base-url', api.url, '--token-file', file]);
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining(`in the token file ${file} is refused`) });
  });

  test('it trusts the authority that --ca-file names, and asks for it without', async () => {
    const service = await startTlsServer();
    onTestFinished(() => service.close());
    const sync = ['sync', '--base-url', `https://127.0.0.1:${service.port}`];
    const refused = await obsync(sync, { env });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('with --ca-file') });
    expect(refused.stderr).not.toContain('retrying');
    expect(await obsync([...sync, '--ca-file', CA_FILE], { env })).toMatchObject({ code: 0 });
    expect(await start(sync, { env: { ...env, NODE_EXTRA_CA_CERTS: CA_FILE } }).ended).toMatchObject({ code: 0 });
    const wrong = join(folder(), 'ca.pem');
    writeFileSync(wrong, 'no certificate');
    const ended = await obsync([...sync, '--ca-file', wrong], { env });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('contains no certificate') });
    const pem = readFileSync(CA_FILE, 'utf8');
    const joined = join(folder(), 'joined.pem');
    writeFileSync(joined, pem.trimEnd() + pem);
    expect(await obsync([...sync, '--ca-file', joined], { env })).toMatchObject({ code: 0 });
    for (const damaged of [pem.slice(0, -300), pem.slice(0, -300) + pem]) {
      writeFileSync(wrong, damaged);
      const refusedFile = await obsync([...sync, '--ca-file', wrong], { env });
      expect(refusedFile).toMatchObject({ code: 2, stderr: expect.stringContaining('is damaged: copy it again') });
    }
  });

  test('it reaches the service through HTTPS_PROXY', async () => {
    const [service, proxy] = [await startTlsServer(), await startProxyServer()];
    onTestFinished(() => service.close());
    onTestFinished(() => proxy.close());
    const sync = ['sync', '--base-url', `https://127.0.0.1:${service.port}`, '--ca-file', CA_FILE];
    expect(await obsync(sync, { env: { ...env, HTTPS_PROXY: proxy.host } })).toMatchObject({ code: 0 });
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT 127.0.0.1:${service.port}`]));
    const refused = await obsync(sync, { env: { ...env, HTTPS_PROXY: 'ftp://user:secret@proxy' } });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/^(?!.*secret).*HTTPS_PROXY must be/) });
  });

  test('it logs the failure before each retry, and says at the end what to check', async () => {
    const { stderr } = await obsync(['sync', '--base-url', 'http://127.0.0.1:1', '--retries', '1'], { env });
    expect(stderr).toMatch(
      /INFO: GET \/public\/beta\/environments: the connection to 127\.0\.0\.1:1 failed \(\w+\), retrying in 0\.\d s\n/,
    );
    expect(stderr).toMatch(
      /after 2 tries\. Try again later; if it fails again, check the base URL and the network\.\n$/,
    );
  });

  test('every command says in one line what to do about a damaged mirror', async () => {
    const { where, db } = await damagedMirror();
    for (const args of [
      ['status', '--db', db],
      ['plan', ...where],
      ['sync', ...where, '--log-level', 'warn'],
      ['verify', ...where],
    ]) {
      const { code, stdout, stderr } = await obsync(args, { env });
      expect({ code, stdout }, args[0]).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^(\[.*\n)?obsync: .*m\.db is damaged: restore it from a backup, or move it away and sync again\n$/,
      );
    }
  });

  test('it prints the cause of a failure at --log-level debug', async () => {
    const { where } = await damagedMirror();
    const { stderr } = await obsync(['sync', ...where, '--log-level', 'debug'], { env });
    expect(stderr).toMatch(/\[cause\]: .*SqliteError.*: database disk image is malformed/);
  });

  test('it exits 2 if the folder of the mirror is missing, without creating it', async () => {
    const api = await apiServer({ body: [{ id: 'e1', name: 'Production' }] });
    const db = join(folder(), 'no', 'm.db');
    expect(await obsync(['sync', '--base-url', api.url, '--db', db], { env })).toEqual(refusal(/folder/));
    expect(existsSync(dirname(db))).toBe(false);
  });

  test.each([
    [
      'trace',
      /DEBUG: 200 GET \/public\/beta\/e1\/assets\?limit=2000 \d+ ms/,
      /^nothing changed in 1 environment\nrun 1 is done: .*\n$/,
    ],
    [
      'debug',
      /DEBUG: 200 GET \/public\/beta\/e1\/assets \d+ ms.*Production assets: done/s,
      /^nothing changed in 1 environment\nrun 1 is done: .*\n$/,
    ],
    ['info', /^[^\n]* 1 environment: Production\n$/, /^nothing changed in 1 environment\nrun 1 is done: .*\n$/],
    ['warn', /^$/, /^$/],
  ])('without a terminal a successful run prints at --log-level %s: %s', async (level, logged, printed) => {
    const api = await apiServer({ body: [{ id: 'e1', name: 'Production' }] }, { body: { items: [], has_more: false } });
    const args = ['sync', '--base-url', api.url, '--stream', 'assets', '--log-level', level];
    const ended = await obsync(args, { cwd: folder(), env });
    expect(ended).toEqual({
      code: 0,
      stderr: expect.stringMatching(logged),
      stdout: expect.stringMatching(printed),
    });
  });

  test('every command escapes terminal control characters in names', async () => {
    const name = 'red \u001b[31m\nand \u202e';
    const api = await apiServer(({ target }) => ({
      body: target.endsWith('/environments') ? [{ id: 'e', name }] : { items: [{ id: 'a' }], has_more: false },
    }));
    const cwd = folder();
    const service = ['--base-url', api.url, '--stream', 'assets'];
    for (const args of [['sync', ...service], ['plan', ...service], ['verify', ...service], ['status']]) {
      const { stdout, stderr } = await obsync(args, { cwd, env });
      expect(args[0] === 'sync' ? stderr : stdout + stderr, args[0]).toContain('red \\u001b[31m\\nand \\u202e');
      expect((stdout + stderr).replaceAll('\n', ''), args[0]).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
  });

  test('--stream takes several streams, separated by commas or repeated', async () => {
    const page = { body: EMPTY_PAGE };
    const { url } = await apiServer({ body: [{ id: 'e1', name: 'E' }] }, page, page, page, page, page, page);
    const args = ['--base-url', url, '--stream', 'assets,columns', '--stream', 'asset_lineage'];
    const { stdout } = await obsync(['sync', '--json', ...args], { env: { OBSYNC_TOKEN: TOKEN } });
    const { streams } = JSON.parse(stdout) as { streams: { stream: string }[] };
    expect(streams.map(({ stream }) => stream).sort()).toEqual(['asset_lineage', 'assets', 'columns']);
  });

  test('with --json it prints a summary even if the mirror is the file of another program', async () => {
    const db = join(folder(), 'notes.db');
    new Database(db).exec('create table notes (text)').close();
    const { url } = await apiServer();
    const { code, stdout } = await obsync(['sync', '--json', '--db', db, '--base-url', url], {
      env: { OBSYNC_TOKEN: TOKEN },
    });
    expect([code, JSON.parse(stdout)]).toEqual([
      2,
      expect.objectContaining({ recovery: 'usage', error: expect.stringContaining('is not a mirror') }),
    ]);
  });

  test('with --json it prints one JSON document on stdout, even if it fails', async () => {
    const api = await apiServer(ERROR_401);
    const { stdout } = await obsync(['sync', '--base-url', api.url, '--json'], { cwd: folder(), env });
    expect(JSON.parse(stdout)).toMatchObject({ run: null, status: 'refused', recovery: 'token', requests: 1 });
  });
});
