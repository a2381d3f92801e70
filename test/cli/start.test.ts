import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';
import { folder, MAIN, mirrorFile, NODE, ROOT, start, TOKEN } from './setup.ts';

/** Records the URL of every module that the main thread loads. */
const NOTING = `
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';
if (isMainThread)
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED, url + '\\n');
      return next(url, context);
    },
  });
`;

/** How many bytes of JavaScript the main thread of a command loads, and from which packages. */
async function loadedBy(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const place = folder();
  const [noting, loaded] = [join(place, 'noting.mjs'), join(place, 'loaded')];
  writeFileSync(noting, NOTING);
  writeFileSync(loaded, '');
  const ended = await start(args, { env: { ...env, NODE_OPTIONS: `--import ${noting}`, LOADED: loaded } }).ended;
  const files = readFileSync(loaded, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:') && url.endsWith('.js'))
    .map((url) => fileURLToPath(url));
  return {
    code: ended.code,
    bytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
    packages: files.filter((file) => file.includes('node_modules')),
  };
}

/** Syncs a small source into a mirror. @returns the variables for its commands */
async function synced(db: string): Promise<Record<string, string>> {
  const { server } = await servedWorld();
  const env = { OBSYNC_TOKEN: TOKEN, OBSYNC_DB: db, OBSYNC_BASE_URL: server.url };
  expect(await start(['sync'], { env }).ended).toMatchObject({ code: 0 });
  return env;
}

describe('the end of a command', () => {
  test('every command on a file ends its process, and Node warns of nothing', async () => {
    const cwd = folder();
    const env = await synced(join(cwd, 'm.db'));
    for (const args of [
      ['plan'],
      ['verify'],
      ['describe', 'assets'],
      ['migrate'],
      ['export', '--to', 'csv', '--format', 'csv'],
      ['report', '--to', 'report.html'],
      ['bi', 'dbt', '--to', 'bi'],
      ['copy', '--to', 'copy.db'],
    ])
      expect(await start(args, { cwd, env }).ended, args[0]).toEqual({
        code: 0,
        stdout: expect.any(String),
        stderr: expect.not.stringContaining('Warning'),
      });
  });

  test('commands on PostgreSQL end their process: no connection keeps it alive', async () => {
    const { url } = await temporarySchema();
    const env = await synced(url);
    for (const args of [
      ['status'],
      ['plan'],
      ['verify'],
      ['migrate'],
      ['query', 'select 1 as a'],
      ['accounts', 'list'],
    ])
      expect(await start(args, { env }).ended, args[0]).toMatchObject({ code: 0 });
  });
});

describe('the start of a command', () => {
  test('--version loads hardly anything', async () => {
    const { bytes, ...loaded } = await loadedBy(['--version']);
    expect(loaded).toEqual({ code: 0, packages: [] });
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(10_000);
  });

  test.each(['--help', 'sync --help'])('%s loads the command line parser and no command', async (line) => {
    const { bytes, ...loaded } = await loadedBy(line.split(' '));
    expect(loaded).toEqual({ code: 0, packages: [] });
    expect(bytes).toBeLessThan(350_000);
  });

  test('status loads the mirror reader, but neither a log nor an HTTP client', async () => {
    const { code, bytes, packages } = await loadedBy(['status', '--db', mirrorFile()]);
    expect(code).toBe(0);
    expect(packages.filter((file) => !file.includes('better-sqlite3'))).toEqual([]);
    expect(bytes).toBeLessThan(750_000);
  });

  test('sync loads the HTTP client and the mirror in its own thread, not in the thread that handles signals', async () => {
    const { server } = await servedWorld();
    const args = ['sync', '--base-url', server.url, '--db', join(folder(), 'm.db'), '--log-level', 'warn'];
    const { bytes, ...loaded } = await loadedBy(args, { OBSYNC_TOKEN: TOKEN });
    expect(loaded).toEqual({ code: 0, packages: [] });
    expect(bytes).toBeLessThan(700_000);
  });
});

test('a folder `locales` next to the package neither changes texts nor makes a command fail', async () => {
  const place = folder();
  cpSync(dirname(MAIN), join(place, 'obsync/dist'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(place, 'obsync/package.json'));
  const said = () =>
    [['--help'], ['status', '--frobnicate']].map((args) => {
      const { stdout, stderr } = spawnSync(NODE, [join(place, 'obsync/dist/main.js'), ...args], { encoding: 'utf8' });
      return { stdout, stderr };
    });
  const alone = said();
  const texts = join(place, 'locales/en.json');
  mkdirSync(dirname(texts));
  writeFileSync(texts, JSON.stringify({ 'Commands:': 'Theirs:', 'Options:': 'Theirs:', 'Show help': 'Theirs' }));
  expect(said()).toEqual(alone);
  rmSync(texts);
  // Root can read every file, but nobody can read a folder as a file.
  mkdirSync(texts);
  expect(said()).toEqual(alone);
});
