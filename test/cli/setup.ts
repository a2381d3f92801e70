import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished } from 'vitest';
import { mirror as mirrorTable } from '../../schema/sync.ts';
import type { CommandIo, LogSettings } from '../../src/cli/command.ts';
import { createLog } from '../../src/cli/log.ts';
import { main } from '../../src/cli/program.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { type ApiServer, type ScriptedStep, startApiServer } from '../support/api-server.ts';
import { testFolder } from '../support/test-folder.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const NODE = join(ROOT, 'node_modules/.bin/node');
export const MAIN = join(inject('compiled'), 'main.js');

/** The folders of the current test file instead of the user's: this module outlives it in its worker. */
const ownFolders = () => {
  const { XDG_STATE_HOME, XDG_CACHE_HOME } = process.env;
  return { XDG_STATE_HOME, XDG_CACHE_HOME };
};

export const TOKEN = 'the-token-nobody-may-see';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly ended: Promise<Ended>;
  /** Resolves when stderr contains this text, or when the program has exited. */
  logged(text: string): Promise<void>;
  /** Resolves with stdout when it matches, or when the program has exited. */
  printed(pattern: RegExp): Promise<string>;
  /** Stderr so far. */
  said(): string;
  kill(signal: NodeJS.Signals): void;
}

interface StartedWhere extends Where {
  /** A program and its arguments that start the program with the rest of its command line. */
  readonly within?: readonly string[];
}

interface Where {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the real program, with only the given `OBSYNC_…` variables. */
export function start(args: readonly string[], { cwd, env = {}, within = [] }: StartedWhere = {}): Started {
  const [program = NODE, ...rest] = [...within, NODE, MAIN, ...args];
  const child = spawn(program, rest, {
    cwd: cwd ?? folder(),
    env: { PATH: process.env['PATH'], ...ownFolders(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    ended: new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, stderr }));
    }),
    logged: (text) => until(child, 'stderr', () => stderr.includes(text)),
    printed: (pattern) => until(child, 'stdout', () => pattern.test(stdout)).then(() => stdout),
    said: () => stderr,
    kill: (signal) => void child.kill(signal),
  };
}

/** Resolves when the output fulfils the condition, or when the program has exited. */
function until(child: ChildProcess, output: 'stdout' | 'stderr', isFulfilled: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isFulfilled()) return;
      child[output]?.off('data', look);
      resolve();
    };
    child.on('close', () => resolve());
    child[output]?.on('data', look);
    look();
  });
}

/** Runs the program in this process, with only the given `OBSYNC_…` variables and this input, until it ends. */
export function obsync(args: readonly string[], { cwd = folder(), env = {} }: Where = {}, input = ''): Promise<Ended> {
  return inPlace({ cwd, env }, async () => {
    const io = { ...testIo({ ...ownFolders(), ...env }), stdin: Readable.from([input]) };
    const code = await main(args, io);
    return { code, stdout: io.stdout.text, stderr: io.stderr.text };
  });
}

/**
 * Gives the process another working directory and other `OBSYNC_…` and `PG…` variables while it acts.
 * @throws Error if another action has not ended: a process has one working directory, so `start` one of them
 */
export async function inPlace<Result>({ cwd, env }: Required<Where>, act: () => Promise<Result>): Promise<Result> {
  if (placeInUse !== null) throw new Error(`a process has one working directory, still in use by ${placeInUse}`);
  placeInUse = expect.getState().currentTestName ?? 'a hook';
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const removeVariables = (): void => {
    for (const name of Object.keys(process.env)) if (/^(OBSYNC_|PG)/.test(name)) delete process.env[name];
  };
  process.chdir(cwd);
  removeVariables();
  Object.assign(process.env, env);
  try {
    return await act();
  } finally {
    placeInUse = null;
    process.chdir(before.cwd);
    for (const name of Object.keys(env)) delete process.env[name];
    removeVariables();
    Object.assign(process.env, before.env);
  }
}

/** The test that runs the program in this process. */
let placeInUse: string | null = null;

/** What a command has of its process, with its outputs in memory. */
export function testIo(env: CommandIo['env']) {
  const [stdout, stderr] = [new CollectedOutput(), new CollectedOutput()];
  const log = async (settings: LogSettings) => createLog(settings, stderr);
  return { env, stdin: Readable.from([]), stdout, stderr, log, serverLog: log, limitHeap: () => {} };
}

/** Keeps what is written. */
export class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: unknown, _: BufferEncoding, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

export const folder = testFolder;

/** A service that answers with these steps until the test ends. */
export async function apiServer(...steps: ScriptedStep[]): Promise<ApiServer> {
  const api = await startApiServer(...steps);
  onTestFinished(() => api.close());
  return api;
}

/** A real mirror file of a service, filled and closed. @returns its path */
export function mirrorFile(fill: (mirror: MirrorFile) => void = () => {}, baseUrl = 'https://api.example.com'): string {
  const path = join(folder(), 'm.db');
  const mirror = openForWriting(path);
  mirror.db.insert(mirrorTable).values({ id: 1, base_url: baseUrl }).run();
  fill(mirror);
  mirror.connection.close();
  return path;
}

/** Matches a command that was refused in one line. */
export function refusal(line: RegExp): object {
  return { code: 2, stdout: '', stderr: new OneLine(line) };
}

/** An asymmetric matcher: exactly one line from obsync, without a stack. */
class OneLine {
  readonly $$typeof = Symbol.for('jest.asymmetricMatcher');
  readonly line: RegExp;

  constructor(line: RegExp) {
    this.line = line;
  }

  asymmetricMatch(text: string): boolean {
    return /^obsync: [^\n]+\n$/.test(text) && this.line.test(text);
  }

  toString(): string {
    return `OneLine(${this.line})`;
  }

  toAsymmetricMatcher(): string {
    return `one line that matches ${this.line}`;
  }
}
