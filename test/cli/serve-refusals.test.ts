import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { assetHealthScoreDimensions } from '../../schema/health.ts';
import { type ApiOptions, prepareServer } from '../../src/api/prepare-server.ts';
import type { CommandIo } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { serveCommand } from '../../src/cli/serve.ts';
import { defaultsOf } from '../../src/cli/settings.ts';
import type { OPTIONS } from '../../src/settings/option-table.ts';
import { largeMirror, refused, SERVE_TOKEN } from './serving.ts';
import { folder, mirrorFile, obsync, refusal, testIo } from './setup.ts';

const env = { OBSYNC_SERVE_TOKEN: SERVE_TOKEN };
const HASH = 'a'.repeat(64);

type Given = Partial<Readonly<Record<keyof typeof OPTIONS, unknown>>>;

/** The logged warnings and errors. */
const warnings: string[] = [];
beforeEach(() => void warnings.splice(0));
const warningLog = () => pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });

/** Serves in this process, with the defaults of the command line. */
function run(given: Given, variables: CommandIo['env'] = env, out: (text: string) => void = () => {}): Promise<number> {
  const options = COMMANDS.find(({ name }) => name === 'serve')?.options ?? {};
  const commandIo: CommandIo = {
    ...testIo(variables),
    stdout: new Writable({
      write(chunk, _, done) {
        out(String(chunk));
        done();
      },
    }),
    log: () => expect.unreachable(),
    serverLog: async () => warningLog(),
  };
  return serveCommand({ ...defaultsOf(options), port: 0, ...given }, commandIo);
}

function file(text: string): string {
  const path = join(folder(), 'file');
  writeFileSync(path, text);
  return path;
}

const clear = (line: RegExp) => ({
  recovery: 'usage',
  message: expect.stringMatching(new RegExp(`^(?=[^\\n]+$).*(?:${line.source})`)),
});

describe('obsync serve refuses in one line', () => {
  const served = mirrorFile();
  const foreign = join(folder(), 'other.db');
  new Database(foreign).exec('create table notes (text)').close();

  test.each<[string, Given, CommandIo['env'], RegExp]>([
    ['without a token or a token file', {}, {}, /set OBSYNC_SERVE_TOKEN.*--tokens/],
    ['with only the token of sync', {}, { OBSYNC_TOKEN: SERVE_TOKEN }, /set OBSYNC_SERVE_TOKEN.*--tokens/],
    ['with an empty token', {}, { OBSYNC_SERVE_TOKEN: ' ' }, /set OBSYNC_SERVE_TOKEN.*--tokens/],
    [
      'with a token that no header can carry',
      {},
      { OBSYNC_SERVE_TOKEN: 'geh\u00e9im' },
      /^(?!.*geh).*OBSYNC_SERVE_TOKEN.*header cannot/,
    ],
    [
      'with a token of two words',
      {},
      { OBSYNC_SERVE_TOKEN: 'two words' },
      /^(?!.*two).*OBSYNC_SERVE_TOKEN.*header cannot/,
    ],
    ['with a missing token file', { tokens: 'nowhere.json' }, {}, /nowhere\.json cannot be read/],
    [
      'with a missing token file, even if a token is set',
      { tokens: 'nowhere.json' },
      env,
      /nowhere\.json cannot be read/,
    ],
    [
      'with a token file that is not JSON',
      { tokens: file('secret-text') },
      env,
      /^(?!.*secret).*file: it is not JSON; write a JSON array/,
    ],
    [
      'with a token file that is not an array',
      { tokens: file('{}') },
      env,
      /file: it must be array; write a JSON array/,
    ],
    [
      'with a token instead of its hash',
      { tokens: file('[{"name":"a","token_sha256":"plain"}]') },
      env,
      /^(?!.*plain).*file: \/0\/token_sha256/,
    ],
    [
      'with a misspelt restriction',
      { tokens: file(`[{"name":"a","token_sha256":"${HASH}","scope":[]}]`) },
      env,
      /file: .*scope/,
    ],
    ['with an empty token file', { tokens: file('[]') }, {}, /no token would be accepted: .*file contains no token/],
    [
      'with an unknown scope',
      { tokens: file(`[{"name":"a","token_sha256":"${HASH}","scopes":["asset"]}]`) },
      env,
      /assets,tests/,
    ],
    ['with an invalid rate limit', { rateLimit: '120' }, env, /--rate-limit 120: write requests\/window/],
    ['with invalid weights', { dimensionWeights: 'completeness' }, env, /--dimension-weights completeness: write/],
    ['with a weight given twice', { dimensionWeights: 'a=1,a=2' }, env, /--dimension-weights lists a more than once/],
    [
      'with the weight of an unknown dimension',
      { dimensionWeights: 'freshness=2,foo=1' },
      env,
      /--dimension-weights: there is no dimension foo: choose from completeness, /,
    ],
    ['with a port out of range', { port: 65_536 }, env, /--port needs a whole number from 0 to 65535/],
    ['with a fractional port', { port: 80.5 }, env, /--port needs a whole number/],
    [
      'on an address of another machine',
      { host: '192.0.2.1' },
      env,
      /cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\).*--host and --port/,
    ],
    ['on an invalid address', { host: 'no host' }, env, /cannot listen on no host:0 \(\w+\).*--host and --port/],
    ['without a mirror', { db: 'nowhere.db' }, env, /nowhere\.db does not exist: .*obsync sync/],
    ['over another program’s database', { db: foreign }, env, /is not a mirror but another SQLite database/],
  ])('serve refuses to start %s', async (_, given, variables, line) => {
    const said: string[] = [];
    const started = run({ db: served, ...given }, variables, (text) => said.push(text));
    await expect(started).rejects.toMatchObject(clear(line));
    expect(said).toEqual([]);
  });

  test('serve refuses to start on a port that is in use, and its process exits 2', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const ended = await obsync(['serve', '--db', served, '--port', String(port)], { env });
    expect(ended).toEqual(
      refusal(new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port} \\(it is already in use\\).*--port`)),
    );
  });
});

/** Starts a server in this process and waits until it listens. */
async function started(given: Given): Promise<{ url: string; ended: Promise<number> }> {
  const { promise: url, resolve } = Promise.withResolvers<string>();
  const ended = run(given, env, (text) => resolve(text.trim()));
  const at = await Promise.race([url, ended.then(String)]);
  // All its threads have started: one that has not could not stop in time on a busy machine.
  const headers = { authorization: `Bearer ${SERVE_TOKEN}` };
  await Promise.all([1, 2].map(() => fetch(`${at}/public/beta/environments`, { headers })));
  return { url: at, ended };
}

const stop = (signal: NodeJS.Signals) => void process.emit(signal, signal);

test.each([
  ['127.0.0.1', /^http:\/\/127\.0\.0\.1:\d+$/, []],
  ['localhost', /^http:\/\/localhost:\d+$/, []],
  ['0.0.0.0', /^http:\/\/0\.0\.0\.0:\d+$/, [expect.stringContaining('unencrypted')]],
])('serve listens on --host %s, shows it in the URL, and warns unless it is loopback', async (host, form, warned) => {
  const { url, ended } = await started({ db: mirrorFile(), host });
  expect(url).toMatch(form);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  stop('SIGTERM');
  expect(await ended).toBe(143);
  expect(warnings).toEqual(warned);
});

const granting = (...entries: object[]): string => {
  const path = file(JSON.stringify(entries));
  chmodSync(path, 0o600);
  return path;
};
const entry = (name: string, limits: object) => ({ name, token_sha256: hashOf(name), ...limits });
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** What a server with these options would warn of when it starts. */
async function warnedOf(options: ApiOptions): Promise<string[]> {
  const { server, warnings: found } = await prepareServer({ token: SERVE_TOKEN, ...options, logger: warningLog() });
  const warned = [...warnings, ...found()];
  await server.close();
  return warned;
}

const estate = () =>
  mirrorFile(({ db }) => {
    const at = { env_id: 'e1', mirrored_at: '2026-11-20T04:10:00.000000Z' };
    db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: at.mirrored_at }).run();
    db.insert(assets)
      .values([
        { ...at, id: 'a', path: 'models/marts/orders' },
        { ...at, id: 'b' },
      ])
      .run();
  });

test('serve warns only of token limits that match nothing in the mirror', async () => {
  const tokens = granting(
    entry('fine', {
      environments: ['e1'],
      asset_ids: ['a', 'b'],
      paths: ['models', 'models/marts/', 'models/marts/orders'],
    }),
    entry('astray', {
      environments: ['Production'],
      asset_ids: ['a', 'c', 'd'],
      paths: ['model', 'models/mart', 'orders'],
    }),
    entry('one astray', { paths: ['models/marts/orders/x'] }),
  );
  expect(await warnedOf({ db: estate(), tokens })).toEqual([
    'token astray: the mirror has no environment with the id Production',
    'token astray: the mirror has no asset with the id c, nor 1 more that the token names',
    'token astray: the mirror has no asset at the path model, nor 2 more that the token names',
    'token one astray: the mirror has no asset at the path models/marts/orders/x',
  ]);
});

test('serve warns of a token file that everyone may write', async () => {
  const tokens = granting(entry('fine', {}));
  expect(await warnedOf({ db: estate(), tokens })).toEqual([]);
  chmodSync(tokens, 0o602);
  expect(await warnedOf({ db: estate(), tokens })).toEqual([expect.stringContaining(`chmod o-w ${tokens}`)]);
});

test.each<[string, readonly string[], ApiOptions, boolean]>([
  ['two dimensions and no weights', ['validity', 'freshness'], {}, true],
  ['two dimensions and weights', ['validity', 'freshness'], { dimensionWeights: 'validity=2' }, false],
  ['one dimension', ['validity'], {}, false],
  ['no scores', [], {}, false],
])('serve warns once of default weights: %s', async (_, dimensions, given, isWarned) => {
  const db = mirrorFile((mirror) => {
    for (const dimension of dimensions)
      mirror.db
        .insert(assetHealthScoreDimensions)
        .values({ env_id: 'e1', asset_id: 'a', dimension, score: 1, test_count: 1, bucket_at: 'x', mirrored_at: 'x' })
        .run();
  });
  expect(await warnedOf({ db, ...given })).toEqual(
    isWarned ? [expect.stringMatching(/weight all dimensions equally.*--dimension-weights/)] : [],
  );
});

test.each([
  ['x'.repeat(19), [expect.stringMatching(/^OBSYNC_SERVE_TOKEN is short/)]],
  ['x'.repeat(20), []],
])('serve warns of a token that is easy to guess: %s', async (token, warned) => {
  expect(await warnedOf({ db: mirrorFile(), token })).toEqual(warned);
});

test('serve disconnects a client that stops reading 3 seconds after the signal', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { url, ended } = await started({ db: largeMirror() });
  const { hostname, port } = new URL(url);
  const reader = connect(Number(port), hostname);
  reader.write(
    `GET /public/beta/e1/assets?limit=2000 HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${SERVE_TOKEN}\r\n\r\n`,
  );
  await once(reader, 'data');
  reader.pause();
  let over = false;
  const code = ended.finally(() => {
    over = true;
  });
  stop('SIGINT');
  await refused(url);
  vi.advanceTimersByTime(2999);
  await refused(url);
  expect(over).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await code).toBe(130);
  reader.destroy();
});
