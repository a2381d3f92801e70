import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import { execute } from '../package/installed.ts';
import { testFolder } from '../support/test-folder.ts';
import { serveWorld } from '../support/world-server.ts';

const IMAGE = 'localhost/obsync-test';

/** What the Dockerfile says of how the image is run. */
interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** Runs a command as process 1 of a container: $0 is its read-only root, $1 its volume, $2 its user. */
const CONTAINER = `mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount --bind "$1" "$0/data"
mount -t proc proc "$0/proc"
root=$0 user=$2
shift 2
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"`;

const buildah = (...args: readonly string[]): string => execFileSync('buildah', args, { encoding: 'utf8' }).trim();

let container: string;
let root: string;
let config: ImageConfig;
beforeAll(() => {
  container = buildah('from', IMAGE);
  root = buildah('mount', container);
  config = JSON.parse(buildah('inspect', '--type', 'image', IMAGE)).Docker.config;
});
afterAll(() => void buildah('rm', container));

/** A new volume of the image's user, beside which commands run as in the image, with these variables in addition. */
function makeVolume(variables: Readonly<Record<string, string>>) {
  const data = testFolder();
  const [uid = 0, gid = 0] = config.User.split(':').map(Number);
  chownSync(data, uid, gid);
  const isolated = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-euc', CONTAINER, root, data, config.User];
  const env = { ...Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s))), ...variables };
  return {
    data,
    run: (...command: readonly string[]) => execute('unshare', [...isolated, ...command], { cwd: data, env }),
    start(...command: readonly string[]) {
      const child = spawn('unshare', [...isolated, ...command], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    },
  };
}

/** Serves a world, and makes a volume for its mirror. */
async function setUp() {
  const world = createWorld();
  furnish(world.environment());
  const server = await serveWorld(world);
  onTestFinished(() => server.close());
  return makeVolume({
    OBSYNC_BASE_URL: server.url,
    OBSYNC_TOKEN: 'the-token',
    OBSYNC_SERVE_TOKEN: 'a-token-that-nobody-guesses',
    OBSYNC_PORT: '0',
    OBSYNC_LOG_LEVEL: 'error',
  });
}

describe('the image, as a user without privileges and on a read-only root', () => {
  test('can write to /data only', async () => {
    const { run } = await setUp();
    expect(await run('id', '--user')).toMatchObject({ stdout: '1000\n' });
    expect(await run('find', '/', '-xdev', '-type', 'd', '-writable')).toMatchObject({ stdout: '/data\n' });
    expect(await run('touch', '/data/x')).toMatchObject({ code: 0 });
  });

  test('syncs, answers queries, and keeps its state and the mirror in /data', async () => {
    const { data, run } = await setUp();
    const sync = [...config.Entrypoint, 'sync', '--quiet'];
    expect(await run(...sync)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run(...sync)).toEqual({ code: 0, stdout: '', stderr: '' });
    const query = [...config.Entrypoint, 'query', 'select id from live_assets order by id'];
    expect(await run(...query)).toMatchObject({ code: 0, stdout: 'id\na1\na2\na3\nb1\no1\n' });
    expect(readdirSync(data)).toEqual(expect.arrayContaining(['mirror.db', 'state']));
  });

  test('serves by default, on every address, is healthy while it does, and ends on SIGTERM as process 1', async () => {
    const { run, start } = await setUp();
    const [kind, ...check] = config.Healthcheck.Test;
    expect(kind).toBe('CMD');
    expect(await run(...config.Entrypoint, 'sync')).toMatchObject({ code: 0 });
    const served = start(...config.Entrypoint, ...config.Cmd);
    const ended = once(served, 'close');
    const [line] = await once(createInterface(served.stdout), 'line');
    const [, port] = /^http:\/\/0\.0\.0\.0:(\d+)/.exec(String(line)) ?? [];
    expect(await run('env', `OBSYNC_PORT=${port}`, ...check)).toMatchObject({ code: 0 });
    const health = await fetch(`http://127.0.0.1:${port}/healthz`);
    expect(await health.json()).toMatchObject({ status: 'up' });

    const [first] = readFileSync(`/proc/${served.pid}/task/${served.pid}/children`, 'utf8').split(' ');
    process.kill(Number(first), 'SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(await run('env', `OBSYNC_PORT=${port}`, ...check)).toMatchObject({ code: 1 });
  });
});

test('the image takes less than 100 MB, compressed', () => {
  const layout = testFolder();
  buildah('push', '--quiet', IMAGE, `oci:${layout}:image`);
  const blobs = join(layout, 'blobs/sha256');
  const bytes = readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0);
  console.log(`the image takes ${(bytes / 1e6).toFixed(1)} MB, compressed`);
  expect(bytes).toBeLessThan(100e6);
});
