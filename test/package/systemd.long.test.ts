import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagOf } from '../../src/settings/option-error.ts';
import { testFolder } from '../support/test-folder.ts';
import { ROOT } from './installed.ts';

const UNITS = globSync(join(ROOT, 'examples/systemd/*.{service,timer}'));
const SERVICES = UNITS.filter((path) => path.endsWith('.service'));
const START = /^ExecStart=obsync (.*)$/m;

describe.each(SERVICES.map((path) => [basename(path), path]))('%s', (_, path) => {
  const [command, ...args] = (START.exec(readFileSync(path, 'utf8'))?.[1] ?? '').split(' ');

  test('starts a command of obsync with options that it has', () => {
    const options = COMMANDS.find(({ name }) => name === command)?.options ?? {};
    const flags = Object.keys(options).map((option) => `--${flagOf(option)}`);
    expect(flags).toEqual(expect.arrayContaining(args.filter((word) => word.startsWith('--'))));
  });
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.runIf(hasSystemd)('systemd-analyze', () => {
  let folder: string;
  beforeAll(() => {
    folder = testFolder();
    cpSync(join(ROOT, 'examples/systemd'), folder, { recursive: true });
    // It looks for the program, which is not installed here.
    for (const path of SERVICES)
      writeFileSync(join(folder, basename(path)), readFileSync(path, 'utf8').replace(START, 'ExecStart=/bin/true $1'));
  });

  const analyze = (...args: readonly string[]) => {
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { env, encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };

  test('verify finds nothing wrong with the units and the settings that they share', () => {
    const names = UNITS.map((path) => basename(path));
    expect(analyze('verify', '--man=no', ...names)).toEqual({ status: 0, said: '' });
  });

  test.each(SERVICES.map((path) => basename(path)))('security rates the exposure of %s at 2.0 or better', (name) => {
    const { status, said } = analyze('security', '--offline=true', '--threshold=20', '--no-pager', name);
    expect({ status, said }).toMatchObject({ status: 0, said: expect.stringContaining('Overall exposure level') });
  });
});
