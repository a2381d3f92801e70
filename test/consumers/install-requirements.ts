import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A registry may accept a connection and never answer. */
const TIMEOUT_MS = 900_000;

/** Installs Python packages into an environment of their own, which is made if needed. @returns whether that worked */
export function installRequirements(venv: string, args: readonly string[]): boolean {
  const pip = ['install', '--quiet', '--disable-pip-version-check', ...args];
  return run('python3', ['-m', 'venv', venv]) && run(join(venv, 'bin/pip'), pip);
}

export function run(command: string, args: readonly string[], where: SpawnSyncOptions = {}): boolean {
  return start(command, args, where).status === 0;
}

export function start(command: string, args: readonly string[], where: SpawnSyncOptions = {}) {
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  return spawnSync(command, args, { ...where, stdio: [...stdio], encoding: 'utf8', timeout: TIMEOUT_MS });
}
