import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { MAIN, NODE, TOKEN } from '../cli/setup.ts';
import { ANYONE, installForAnyone } from '../support/anyone.ts';
import { digestOf } from './outcome.ts';
import { countOf, type Point } from './points.ts';
import { expectCarriesOn, SCENES } from './reference.ts';
import { freshPath, type Scene } from './scenes.ts';
import { serveWorld } from './served-world.ts';

const [[, first], [, second]] = SCENES as [(typeof SCENES)[0], (typeof SCENES)[0]];

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

interface Starting {
  /** The command that starts the program. */
  readonly by?: readonly string[];
  /** The installation to run, by default that of the clone. */
  readonly as?: { readonly user: { readonly uid?: number }; readonly node: string; readonly main: string };
}

const OWN = { user: {}, node: NODE, main: MAIN };

/** Starts the real program on a scene. `ended` resolves with its output. */
function start(url: string, db: string, { by = [], as = OWN }: Starting = {}) {
  const own = '--history --page-size=2 --concurrency=1 --allow-http --log-level=warn'.split(' ');
  const [command = '', ...args] = [...by, as.node, as.main, 'sync', `--base-url=${url}`, `--db=${db}`, ...own];
  const { PATH, XDG_STATE_HOME, XDG_CACHE_HOME } = process.env;
  const env = { PATH, XDG_STATE_HOME, XDG_CACHE_HOME, OBSYNC_TOKEN: TOKEN };
  const child = spawn(command, args, { ...as.user, cwd: '/', env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, stderr }));
  return { ended, kill: (signal: NodeJS.Signals = 'SIGKILL') => child.kill(signal) };
}

/** What the next run must satisfy: every answered page was committed, because pages are read one at a time. */
function pointOf({ world }: Scene, from: number, label: string): Point {
  return { label, nowMs: world.nowMs, requests: countOf(world.log.slice(from)), inFlight: new Map() };
}

test.each([19])(
  'a process killed at request %i leaves no lock, and the next run completes its work (R5, R6, R26)',
  async (last) => {
    const { scene, reference } = await first();
    scene.world.nowMs = scene.atMs;
    const from = scene.world.log.length;
    const path = freshPath();
    const url = await serveWorld(scene.world, (number) => {
      if (number >= last) killed.kill();
      return number < last;
    });
    const killed = start(url, path);
    expect(await killed.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect(scene.world.log).toHaveLength(from + last - 1);
    const next = { ...scene, nextOptions: { baseUrl: url } };
    await expectCarriesOn(next, path, reference, pointOf(scene, from, `killed at request ${last}`));
  },
);

test('a signal ends a process stuck in SQLite, and the next run completes its work (R27, R5)', async () => {
  const { scene, reference } = await first();
  scene.world.nowMs = scene.atMs;
  const from = scene.world.log.length;
  const path = freshPath();
  // This lock delays a commit for ten seconds; a signal gives up after five.
  let other: Database.Database | null = null;
  onTestFinished(() => void other?.close());
  const url = await serveWorld(scene.world, (number) => {
    if (number !== 9) return true;
    other = new Database(path);
    other.exec('begin immediate');
    stopped.kill('SIGTERM');
    return true;
  });
  const stopped = start(url, path);
  expect(await stopped.ended).toMatchObject({
    code: null,
    signal: 'SIGTERM',
    stderr: expect.stringMatching(/^obsync: stopped in the middle of a long write: [^\n]+\n$/),
  });
  (other as Database.Database | null)?.close();
  const { nowMs, requests } = pointOf(scene, from, '');
  const point = { label: 'stopped in SQLite', nowMs, requests, inFlight: countOf(scene.world.log.slice(-1)) };
  await expectCarriesOn({ ...scene, nextOptions: { baseUrl: url } }, path, reference, point);
});

/** Limits a file to this many blocks of 512 bytes. */
const limited = (blocks: number) => ({ by: ['sh', '-c', 'ulimit -f "$1"; shift; exec "$@"', 'sh', String(blocks)] });

test.each([
  ['while the mirror is created', 300],
  ['later', 1000],
])(
  'a write that the system refuses %s ends the sync with one clear line, and the next run completes it',
  async (_, blocks) => {
    const { scene, reference } = await first();
    scene.world.nowMs = scene.atMs;
    const from = scene.world.log.length;
    const path = freshPath();
    const url = await serveWorld(scene.world, () => true);
    const { code, stderr } = await start(url, path, limited(blocks)).ended;
    expect({ code, said: stderr.trimEnd().split('\n').at(-1) }).toEqual({
      code: 1,
      said: `obsync: ${path} could not be read or written: check the disk and run again`,
    });
    expect(stderr).not.toMatch(/\n\s+at /);
    const { nowMs, requests } = pointOf(scene, from, '');
    const refused = scene.world.log.slice(-1).filter(({ path }) => path !== 'environments');
    const point = { label: `${blocks} blocks`, nowMs, requests, inFlight: countOf(refused) };
    await expectCarriesOn({ ...scene, nextOptions: { baseUrl: url } }, path, reference, point);
  },
);

describe('a sync run by an unprivileged user', () => {
  let as: NonNullable<Starting['as']>;
  beforeAll(() => {
    const compiled = basename(dirname(MAIN));
    const { root, node, remove } = installForAnyone(compiled);
    as = { user: ANYONE, node, main: join(root, compiled, basename(MAIN)) };
    return remove;
  });

  test.each([
    ['the mirror', 0o444, 0o777, /m\.db cannot be written: check the permissions of the file and of its folder$/],
    ['the folder of a mirror', 0o644, 0o555, /m\.db(\.lock)? cannot be (written|locked): check /],
    [
      'the folder of a new mirror',
      null,
      0o555,
      /m\.db\.lock cannot be locked: check that its folder exists and may be written$/,
    ],
  ])('it ends with one clear line and changes nothing if %s is read-only', async (_, fileMode, folderMode, says) => {
    const { scene } = await (fileMode === null ? first : second)();
    const folder = mkdtempSync(join(tmpdir(), 'obsync-readonly-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'm.db');
    const source = scene.fresh();
    const before = existsSync(source) ? digestOf(source) : null;
    if (fileMode !== null) place(source, path, fileMode);
    chmodSync(folder, folderMode);
    const url = fileMode === null ? await serveWorld(scene.world, () => true) : 'http://world.test';
    const { code, stderr } = await start(url, path, { as }).ended;
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^obsync: [^\n]+\n$/) });
    expect(stderr.trimEnd()).toMatch(says);
    chmodSync(folder, 0o755);
    expect(readdirSync(folder)).toEqual(fileMode === null ? [] : ['m.db']);
    if (before !== null) expect(digestOf(path)).toBe(before);
  });
});

function place(source: string, path: string, mode: number): void {
  copyFileSync(source, path);
  if (ANYONE.uid !== undefined) chownSync(path, ANYONE.uid, ANYONE.uid);
  chmodSync(path, mode);
}
