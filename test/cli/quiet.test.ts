import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../src/cli/program.ts';
import { putColumn } from '../model/environment.ts';
import { servedWorld } from '../support/served-world.ts';
import { folder, inPlace, mirrorFile, obsync, TOKEN, testIo } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN };

async function setUp() {
  const { world, server } = await servedWorld();
  const cwd = folder();
  const where = ['--base-url', server.url, '--db', 'm.db'];
  return { world, cwd, where, run: (...args: string[]) => obsync(args, { cwd, env }) };
}

test('no command that finds nothing wrong prints anything with --quiet, and --json still prints', async () => {
  const { run, where, cwd } = await setUp();
  const nothing = { code: 0, stdout: '', stderr: '' };
  for (const args of [
    ['sync', ...where],
    ['verify', ...where],
    ['export', '--db', 'm.db', '--to', 'lake'],
    ['verify', '--db', 'm.db', '--against', 'lake'],
    ['copy', '--db', 'm.db', '--to', join(cwd, 'copy.db')],
    ['backup', 'backup.db', '--db', 'm.db'],
    ['migrate', '--db', 'm.db'],
    ['compact', '--db', 'm.db'],
    ['bi', 'grafana', '--db', 'm.db', '--to', 'dashboards'],
    ['report', '--db', 'm.db', '--to', 'report.html'],
  ])
    expect(await run(...args, '--quiet')).toEqual(nothing);
  const piped = await run('report', '--db', 'm.db', '--to', '-', '--quiet');
  expect(piped).toEqual({ code: 0, stdout: expect.stringMatching(/^<!doctype html>/), stderr: '' });
  const { stdout } = await run('sync', ...where, '--quiet', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ status: 'done' });
});

test('--quiet prints no live progress and no table on a terminal', async () => {
  const { where, cwd } = await setUp();
  const io = testIo(env);
  for (const output of [io.stdout, io.stderr]) Object.assign(output, { isTTY: true });
  expect(await inPlace({ cwd, env }, () => main(['sync', ...where, '--quiet'], io))).toBe(0);
  expect([io.stdout.text, io.stderr.text]).toEqual(['', '']);
});

test.each([['-q'], ['--log-level', 'warn'], ['--log-level', 'error', '--quiet']])(
  '%s %s has the effect of --quiet on the log and on the report',
  async (...flags) => {
    const copied = await obsync(['copy', '--db', mirrorFile(), '--to', join(folder(), 'copy.db'), ...flags]);
    expect(copied).toEqual({ code: 0, stdout: '', stderr: '' });
  },
);

test('verify counts what the next sync fetches, and lists it with --verbose', async () => {
  const { run, where, world } = await setUp();
  await run('sync', ...where, '--quiet');
  world.advance(3600);
  putColumn(world.environment(), 'a1.c1', 'a1');
  const pending = 'pending: changed at the source since the last sync; the next sync fetches them';
  expect((await run('verify', ...where)).stdout).toContain(`${pending}; --verbose lists them\nnot checked: `);
  expect((await run('verify', ...where, '--verbose')).stdout).toContain(
    `${pending}:\n  env e1, columns:\n    unequal a1.c1`,
  );
});

test('what is wrong is printed with --quiet as without', async () => {
  const { run, where, world } = await setUp();
  await run('sync', ...where, '--quiet');
  world.environment().denied.add('columns');
  const { code, stdout, stderr } = await run('sync', ...where, '--quiet');
  expect(code).toBe(1);
  expect(stdout).toContain('ended with problems');
  expect(stderr).toContain('WARN');
});

test('a stream that was live and answers 404 is a warning with --quiet, and exit 1 once --grace is over', async () => {
  const { run, where, world } = await setUp();
  await run('sync', ...where, '--quiet');
  world.environment().notLive.add('tests');
  world.advance(3600);
  const warned = await run('sync', ...where, '--quiet', '--grace', '2h');
  const warning = /WARN: env e1 tests: .*it answers 404 but was live before/;
  expect(warned).toMatchObject({ code: 0, stderr: expect.stringMatching(warning) });
  world.advance(2 * 3600);
  expect(await run('sync', ...where, '--quiet', '--grace', '2h')).toMatchObject({ code: 1 });
});

test.each([
  ['that ends a command', ['--env', 'nowhere'], 2, /no environment nowhere/],
  ['in the options', ['--retries', '-1'], 2, /--retries needs/],
  ['of a flag that is given twice', ['--log-format', 'json'], 2, /--log-format is given more than once/],
])(
  '--log-format json also writes the error %s as an object, with its stack at debug',
  async (_, args, code, message) => {
    const { run, where } = await setUp();
    for (const level of ['warn', 'debug']) {
      const ended = await run('sync', ...where, '--log-format', 'json', '--log-level', level, ...args);
      expect(ended).toMatchObject({ code, stdout: '' });
      const last = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
      expect(last).toMatchObject({ level: 'fatal', msg: expect.stringMatching(message) });
      if (args[0] === '--retries') expect('stack' in last).toBe(level === 'debug');
    }
  },
);

test('--log-format json writes an object with time, level and message for each line of the log', async () => {
  const { run, where } = await setUp();
  const { stderr } = await run('sync', ...where, '--log-format', 'json');
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines)
    expect(line).toMatchObject({ level: 'info', msg: expect.any(String), time: expect.stringMatching(/^\d{4}-.*Z$/) });
});
