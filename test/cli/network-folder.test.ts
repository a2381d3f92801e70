import fs, { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replicaPlace } from '../../src/destination/mirror-file.ts';
import { status, sync } from '../../src/index.ts';
import { servedWorld } from '../support/served-world.ts';
import { apiServer, folder, obsync, refusal, TOKEN } from './setup.ts';

const NFS = 0x6969;
const { statfsSync } = fs;

/** No test may mount a network file system, so the system says that every folder is on one. */
beforeEach(() => {
  fs.statfsSync = ((path: fs.PathLike) => ({ ...statfsSync(path), type: NFS })) as typeof statfsSync;
  syncBuiltinESMExports();
});

afterEach(() => {
  fs.statfsSync = statfsSync;
  syncBuiltinESMExports();
});

async function setUp() {
  const { server } = await servedWorld();
  const cwd = folder();
  const env = { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN };
  return { cwd, env, db: join(cwd, 'obsync.db'), options: { baseUrl: server.url, token: TOKEN } };
}

const REFUSED = refusal(
  /is on a network file system \(nfs\), where SQLite can lose rows: put the mirror on a local disk or into PostgreSQL \(--db postgres:.*\), or pass --allow-network-fs/,
);

test('every command that writes a mirror refuses a network file system, and sends no request before it does', async () => {
  const server = await apiServer();
  const env = { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: TOKEN };
  const cwd = folder();
  for (const command of [
    ['sync'],
    ['schedule'],
    ['verify', '--repair'],
    ['migrate'],
    ['compact'],
    ['copy', '--to', 'c.db'],
    ['demo'],
    ['alerts', 'snooze', '3f9a'],
  ])
    expect(await obsync(command, { cwd, env }), command[0]).toEqual(REFUSED);
  expect(server.requests).toEqual([]);
  expect(fs.readdirSync(cwd)).toEqual([]);
});

test('with --allow-network-fs they write it, and readers need no permission', async () => {
  const { cwd, env, db, options } = await setUp();
  expect(await obsync(['migrate', '--allow-network-fs'], { cwd, env })).toMatchObject({ code: 0 });
  expect(await obsync(['sync'], { cwd, env: { ...env, OBSYNC_ALLOW_NETWORK_FS: 'true' } })).toMatchObject({ code: 0 });
  expect(await sync({ ...options, db, allowNetworkFs: true })).toMatchObject({ status: 'done' });
  for (const command of [['copy', '--to', 'c.db'], ['compact']])
    expect(await obsync([...command, '--allow-network-fs'], { cwd })).toMatchObject({ code: 0 });
  expect(await obsync(['alerts', 'snooze', '3f9a', '--allow-network-fs'], { cwd })).toEqual(refusal(/no open alert/));
  for (const command of [['status'], ['query', 'select 1'], ['plan'], ['export', '--to', 'lake']])
    expect(await obsync(command, { cwd, env }), command[0]).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'c.db'))).toBe(true);
  expect((await status({ db })).last_run?.status).toBe('done');
});

test('a replica is refused there too, unless `copy --follow` has --allow-network-fs', () => {
  const [mirror, path] = [{ display: 'postgres://h/q' }, join(folder(), 'replica.db')];
  expect(() => replicaPlace(mirror, path)).toThrow(/network file system \(nfs\), .*: name a file on a local disk$/);
  expect(() => replicaPlace(mirror, undefined)).toThrow(/with --replica, or a folder with XDG_CACHE_HOME$/);
  expect(replicaPlace(mirror, path, true)).toEqual({ path, isOwn: false });
});

test('verify without --repair compares a mirror on a network file system, and records its result only if it may write', async () => {
  const { cwd, env } = await setUp();
  await obsync(['sync', '--allow-network-fs'], { cwd, env });
  const recorded = async () => (await obsync(['query', 'select count(*) n from verifications'], { cwd })).stdout;
  expect(await obsync(['verify'], { cwd, env })).toMatchObject({ code: 0 });
  expect(await recorded()).toBe('n\n0\n');
  expect(await obsync(['verify', '--allow-network-fs'], { cwd, env })).toMatchObject({ code: 0 });
  expect(await recorded()).toBe('n\n1\n');
});
