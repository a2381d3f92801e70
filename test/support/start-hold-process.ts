import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';

/** Starts a process that holds environments of a mirror. Resolves once it holds them; the test's end kills it. */
export async function startHoldProcess(db: string, envIds: readonly string[]): Promise<ChildProcess> {
  const program = join(inject('compiled'), 'hold-process.js');
  const child = spawn(process.execPath, [program, db, ...envIds], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}
