import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fastify from 'fastify/package.json' with { type: 'json' };
import { onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type ANYONE, giveToAnyone } from '../support/anyone.ts';

const run = promisify(execFile);

/** The variables of this process that started programs inherit. */
const OWN = {
  PATH: process.env['PATH'],
  XDG_STATE_HOME: process.env['XDG_STATE_HOME'],
  XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
};

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The oldest Node that the package supports, installed next to the tests' own. */
export const OLDEST_NODE = '22.20.0';
const OUTDATED_NODE = '20.19.5';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The package as users install it. */
export interface Installed {
  readonly tarball: string;
  /** What was packed, with the lock file: a clone that was compiled and has no packages. */
  readonly compiledClone: string;
  /** A folder with the installed package, the examples and what these import. */
  readonly folder: string;
  /** The size of the package with all that it needs. */
  readonly bytes: number;
  /** A copy of the tests' own Node. `ANYONE` owns all files. */
  readonly ownNode: string;
  /** The binary of the oldest supported Node. */
  readonly oldestNode: string;
  /** The binary of a Node that is older. */
  readonly outdatedNode: string;
  remove(): void;
}

/** Packs the output of `npm run build` and installs it, with packages from npm's cache or the registry. */
export async function installPackage(): Promise<Installed> {
  const place = mkdtempSync(join(tmpdir(), 'obsync-package-'));
  const [staged, folder] = [join(place, 'staged'), join(place, 'installed')];
  const tarball = await pack(staged, place);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a-user', type: 'module', private: true }));
  await npmWithoutScripts(folder, ['install', tarball]);
  const bytes = sizeOf(join(folder, 'node_modules'));
  // What the examples import, and the oldest Node.
  await npmWithoutScripts(folder, [
    'install',
    `fastify@${fastify.version}`,
    nodePackage(OLDEST_NODE),
    nodePackage(OUTDATED_NODE, 'outdated-node'),
  ]);
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
  const ownNode = join(place, 'bin/node');
  cpSync(process.execPath, ownNode);
  giveToAnyone(place);
  return {
    tarball,
    compiledClone: staged,
    ownNode,
    folder,
    bytes,
    oldestNode: join(folder, 'node_modules/.bin/node'),
    outdatedNode: join(folder, 'node_modules/outdated-node/bin/node'),
    remove: () => rmSync(place, { recursive: true }),
  };
}

async function pack(staged: string, destination: string): Promise<string> {
  const listed = manifest.files.filter((name) => !/^!|^dist$/.test(name));
  for (const name of ['package.json', 'package-lock.json', 'README.md', 'LICENSE', 'prepare.mjs', ...listed])
    cpSync(join(ROOT, name), join(staged, name), { recursive: true });
  for (const config of ['esbuild.config.ts', 'types.config.ts'])
    await run(process.execPath, [config, join(staged, 'dist')], { cwd: ROOT });
  const { stdout } = await npmWithoutScripts(staged, ['pack', '--json', '--pack-destination', destination]);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(destination, filename);
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** The package with only the binary: the package `node` would run a script to fetch it. */
function nodePackage(version: string, alias = ''): string {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}@${version}`;
  return alias === '' ? name : `${alias}@npm:${name}`;
}

const npmWithoutScripts = (cwd: string, args: readonly string[]) => npm(cwd, [...args, '--ignore-scripts']);

export function npm(cwd: string, args: readonly string[]): Promise<{ stdout: string }> {
  return run('npm', [...args, '--prefer-offline', '--no-audit', '--no-fund'], { cwd });
}

interface Where {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: typeof ANYONE;
}

/** Runs a program until it exits, with only the given variables of the tests. */
export async function execute(node: string, args: readonly string[], where: Where): Promise<Ended> {
  const { cwd, env = {}, user = {} } = where;
  try {
    const { stdout, stderr } = await run(node, args, { ...user, cwd, env: { ...OWN, ...env } });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}

/** Starts a program that runs until it is stopped. @returns its first line of output */
export async function startServer(
  node: string,
  args: readonly string[],
  { cwd, env = {} }: Where,
): Promise<{ readonly line: string; stop(): Promise<number | null> }> {
  const child = spawn(node, args, {
    cwd,
    env: { ...OWN, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  return {
    line: String(line),
    async stop() {
      child.kill('SIGTERM');
      return (await ended)[0] as number | null;
    },
  };
}
