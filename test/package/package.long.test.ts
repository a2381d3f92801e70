import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { execute as runTest } from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import { ANYONE, giveToAnyone } from '../support/anyone.ts';
import { testFolder } from '../support/test-folder.ts';
import { serveWorld } from '../support/world-server.ts';
import { execute, type Installed, installPackage, npm, OLDEST_NODE, ROOT, startServer } from './installed.ts';

let installed: Installed;
beforeAll(async () => {
  installed = await installPackage();
});
afterAll(() => installed.remove());

const arrayBuffer = (file: string): ArrayBuffer => new Uint8Array(readFileSync(file)).buffer;
const bin = (name: string): string => join(ROOT, 'node_modules', name);
describe('the published package', () => {
  test('publint finds no problems', async () => {
    const { messages, pkg } = await publint({ pack: { tarball: arrayBuffer(installed.tarball) }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test('it takes less than 60 MB with all that it needs', () => {
    expect(installed.bytes).toBeLessThan(60e6);
  });

  test('`npm ci --omit=dev` in a compiled clone installs what the program needs', async () => {
    await npm(installed.compiledClone, ['ci', '--omit=dev']);
    const { url, env } = await setUp('clone');
    const where = { cwd: installed.compiledClone, env };
    const synced = await execute(installed.ownNode, ['dist/main.js', 'sync', '--base-url', url], where);
    expect(synced).toMatchObject({ code: 0 });
  });

  test('an older Node is told to be updated, in one line, by the program and by the library', async () => {
    const message = 'obsync needs Node 22.20 or later, but this is Node 20.19.5: update Node';
    const where = { cwd: installed.folder };
    const program = await execute(installed.outdatedNode, ['node_modules/obsync/dist/main.js', 'status'], where);
    expect(program).toMatchObject({ code: 2, stdout: '', stderr: `${message}\n` });
    writeFileSync(join(installed.folder, 'uses.mjs'), "import { sync } from 'obsync'; await sync({});");
    const library = await execute(installed.outdatedNode, ['uses.mjs'], where);
    expect(library).toMatchObject({ code: 1, stderr: expect.stringContaining(`\nError: ${message}\n`) });
  });

  test('a program in the older form of modules can require it', async () => {
    writeFileSync(join(installed.folder, 'requires.cjs'), "console.log(typeof require('obsync').sync);");
    const required = await execute(installed.oldestNode, ['requires.cjs'], { cwd: installed.folder });
    expect(required).toMatchObject({ code: 0, stdout: 'function\n' });
  });

  test('its declarations import no package, which programs that use only the rest would have to install', () => {
    const declared = readFileSync(join(installed.folder, 'node_modules/obsync/dist/index.d.ts'), 'utf8');
    expect(declared).not.toMatch(/^(import|export .* from)\b/m);
  });

  test('every kind of module resolution finds its declarations', async () => {
    const { code, stdout } = await execute(
      process.execPath,
      [bin('@arethetypeswrong/cli/dist/index.js'), installed.tarball, '--profile', 'esm-only', '--no-emoji'],
      { cwd: installed.folder },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/bundler.* OK/) });
  });

  test.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])('the examples type-check with module %s and moduleResolution %s', async (module, moduleResolution) => {
    const options = {
      module,
      moduleResolution,
      target: 'es2024',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [bin('@types')],
    };
    const config = join(installed.folder, `tsconfig.${moduleResolution}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions: options, include: ['examples'] }));
    const { code, stdout } = await execute(process.execPath, [bin('typescript/bin/tsc'), '-p', config], {
      cwd: installed.folder,
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });
});

const NODES: readonly [version: string, binary: () => string][] = [
  [process.versions.node, () => installed.ownNode],
  [OLDEST_NODE, () => installed.oldestNode],
];

/** Serves two environments, and picks the path of a new mirror. */
async function setUp(name: string) {
  const world = createWorld(['e1', 'e2']);
  for (const place of world.environments.values()) furnish(place);
  const server = await serveWorld(world);
  onTestFinished(() => server.close());
  return { url: server.url, db: `${name}.db`, env: { OBSYNC_TOKEN: 'the-token' }, cwd: installed.folder };
}

describe.each(NODES)('the installed package on Node %s', (version, binary) => {
  test('the demo makes its mirror in an empty folder, for an ordinary user', async () => {
    const cwd = join(installed.folder, `demo-${version}`);
    mkdirSync(cwd);
    giveToAnyone(cwd);
    const env = { PATH: `${dirname(binary())}:${process.env['PATH']}`, HOME: cwd, XDG_STATE_HOME: cwd };
    const command = join(installed.folder, 'node_modules/.bin/obsync');
    const ended = await execute(command, ['demo'], { cwd, env, user: ANYONE });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Which tests fail now') });
    expect(readdirSync(cwd)).toContain('demo.db');
  });

  test('its command syncs and shows the status', async () => {
    const { url, db, ...where } = await setUp(`command-${version}`);
    const command = 'node_modules/obsync/dist/main.js';
    const ended = await execute(binary(), [command, 'sync', '--base-url', url, '--db', db, '--json'], where);
    expect(ended).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ status: 'done' });
    const { code, stdout } = await execute(binary(), [command, 'status', '--db', db, '--json'], where);
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({ code: 0, report: { base_url: url } });
    const described = await execute(binary(), [command, 'describe', 'assets', '--json'], where);
    expect(JSON.parse(described.stdout)).toMatchObject({ tables: [{ name: 'assets' }] });
    for (const tool of ['grafana', 'superset', 'metabase', 'prometheus']) {
      const made = await execute(binary(), [command, 'bi', tool, '--to', `${tool}-${version}`, '--json'], where);
      expect(made).toMatchObject({ code: 0 });
      expect(JSON.parse(made.stdout).files).not.toEqual([]);
    }
  });

  test('the sync and sink examples work, and the sink receives each change once', async () => {
    const { url, db, ...where } = await setUp(`examples-${version}`);
    const sync = await execute(binary(), ['examples/sync.ts', url, db], where);
    expect(sync).toMatchObject({ code: 0, stdout: expect.stringMatching(/^done: [1-9]\d* rows written, 0 deleted/) });
    const sink = `changes-${version}.ndjson`;
    const first = await execute(binary(), ['examples/custom-sink.ts', db, sink], where);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[1-9]\d* changes sent\n$/) });
    const sent = readFileSync(join(installed.folder, sink), 'utf8').trimEnd().split('\n');
    expect(first.stdout).toBe(`${sent.length} changes sent\n`);
    expect(JSON.parse(sent[0] ?? '')).toMatchObject({ table: 'assets', deleted: false, row: { env_id: 'e1' } });
    expect((await execute(binary(), ['examples/custom-sink.ts', db, sink], where)).stdout).toBe('0 changes sent\n');
    const refused = await execute(binary(), ['examples/sync.ts', 'nowhere', db], where);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('(usage)') });
  });

  test('the example of a server embedded in another one runs, next to its own routes', async () => {
    const { url, db, cwd, env } = await setUp(`embedded-${version}`);
    expect(await execute(binary(), ['examples/sync.ts', url, db], { cwd, env })).toMatchObject({ code: 0 });
    const serving = { cwd, env: { OBSYNC_SERVE_TOKEN: 'a-token-that-nobody-guesses' } };
    const server = await startServer(binary(), ['examples/embedded-server.ts', db, '0'], serving);
    const get = async (path: string, token: string | null) => {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(`${server.line}${path}`, { headers });
      return { status: answer.status, body: (await answer.json()) as unknown };
    };
    expect(await get('/failing-tests', null)).toMatchObject({ status: 200, body: expect.any(Array) });
    const environments = await get('/mirror/public/beta/environments', 'a-token-that-nobody-guesses');
    expect(environments).toMatchObject({ status: 200, body: [{ id: 'e1' }, { id: 'e2' }] });
    expect(await get('/mirror/public/beta/environments', null)).toMatchObject({ status: 401 });
    expect(await get('/mirror/nowhere', 'a-token-that-nobody-guesses')).toMatchObject({ status: 404 });
    expect(await server.stop()).toBe(0);
  });
});

/** What the test reads of a workflow of GitHub Actions. */
interface MirrorJob {
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string; readonly env?: Readonly<Record<string, string>> }[];
}

describe('examples/github-actions', () => {
  const workflow = readFileSync(join(ROOT, 'examples/github-actions/obsync.yml'), 'utf8');
  const { env: jobEnv, steps } = (parse(workflow) as { jobs: { mirror: MirrorJob } }).jobs.mirror;

  const fillIn = (value: string, values: Readonly<Record<string, string>>): string =>
    value.replace(/\$\{\{ (?:vars|secrets)\.(\w+) \}\}/g, (_, name: string) => values[name] ?? '');

  /** Runs the shell steps one after the other, as a runner does. @returns the summary of the run */
  async function runSteps(cwd: string, values: Readonly<Record<string, string>>): Promise<string> {
    const summary = join(cwd, 'summary.md');
    writeFileSync(summary, '');
    const runner = {
      PATH: [join(cwd, 'npm/bin'), dirname(process.execPath), process.env['PATH']].join(':'),
      npm_config_prefix: join(cwd, 'npm'),
      npm_config_prefer_offline: 'true',
      GITHUB_STEP_SUMMARY: summary,
    };
    for (const { run, env = {} } of steps) {
      if (run === undefined) continue;
      // The package of this build, instead of the released one.
      const script = run.replace('--global obsync', `--global --ignore-scripts ${installed.tarball}`);
      const own = Object.entries({ ...jobEnv, ...env }).map(([name, value]) => [name, fillIn(value, values)]);
      const args = ['--noprofile', '--norc', '-e', '-c', script];
      const ended = await execute('bash', args, { cwd, env: { ...runner, ...Object.fromEntries(own) } });
      expect({ script, ...ended }).toMatchObject({ code: 0 });
    }
    return readFileSync(summary, 'utf8');
  }

  test('a run lists the failing tests in its summary and writes the report; the next run reads only the changes', async () => {
    const world = createWorld();
    furnish(world.environment());
    const server = await serveWorld(world);
    onTestFinished(() => server.close());
    const cwd = testFolder();
    const values = { OBSYNC_BASE_URL: server.url, OBSYNC_TOKEN: 'the-token' };

    const first = await runSteps(cwd, values);
    // Within the hour, nothing is scanned again.
    world.advance(1800);
    runTest(world.environment(), 't2', 't2-r2', { status: 'ERROR' });
    const scanned = server.requests.length;
    const second = await runSteps(cwd, values);

    expect(first).toMatch(/^## Failing tests\n```text\n[^`]*│ FAIL [^`]*```\n$/);
    expect(second).toMatch(/│ ERROR [^`]*│ FAIL /);
    expect(server.requests.slice(scanned).some(({ target }) => target.includes('/tests?synced_since='))).toBe(true);
    expect(readFileSync(join(cwd, 'report.html'), 'utf8').startsWith('<!doctype html>')).toBe(true);
  });
});
