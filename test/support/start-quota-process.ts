import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { inject, onTestFinished } from 'vitest';

const PROGRAM = join(inject('compiled'), 'quota-process.js');

/** Starts a process that sends requests to a quota server. The test's end kills it. */
export function startQuotaProcess(words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Resolves once a process has its first response. */
export const answered = async ({ stdout }: ChildProcess): Promise<unknown> => once(stdout as Readable, 'data');

export const ended = async (child: ChildProcess): Promise<unknown> => (await once(child, 'exit'))[0];
