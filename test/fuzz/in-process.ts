import fs from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { vi } from 'vitest';
import { main } from '../../src/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  /** What the program writes itself, without its log. */
  readonly stderr: string;
  readonly log: string;
  /** Errors that were printed with their stack. */
  readonly shown: readonly unknown[];
}

/**
 * Runs the program in this process, in `cwd`, with these `OBSYNC_…` variables and no others; `stopped` sends it SIGTERM
 * once it listens.
 */
export async function inProcess(
  words: readonly string[],
  { cwd, env, stopped }: { cwd: string; env: Readonly<Record<string, string>>; stopped: boolean },
): Promise<Ran> {
  const home = process.cwd();
  const kept = { ...process.env };
  const before = {
    out: process.stdout.listeners('error'),
    err: process.stderr.listeners('error'),
    term: process.listeners('SIGTERM'),
  };
  const [stdout, stderr, log]: [string[], string[], string[]] = [[], [], []];
  const shown: unknown[] = [];
  const take = (texts: string[]) => (text: unknown, more?: unknown, done?: unknown) => {
    texts.push(String(text));
    for (const callback of [more, done]) if (typeof callback === 'function') callback();
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(take(stdout) as typeof process.stdout.write),
    vi.spyOn(process.stderr, 'write').mockImplementation(take(stderr) as typeof process.stderr.write),
    vi.spyOn(console, 'log').mockImplementation((...texts) => void stdout.push(`${texts.join(' ')}\n`)),
    vi.spyOn(console, 'error').mockImplementation((...errors) => void shown.push(...errors)),
    // The logger writes to file descriptor 2 directly.
    vi.spyOn(fs, 'writeSync').mockImplementation(((_: number, text: unknown) => {
      log.push(String(text));
      return Buffer.byteLength(String(text));
    }) as typeof fs.writeSync),
  ];
  try {
    process.chdir(cwd);
    for (const name of Object.keys(process.env)) if (name.startsWith('OBSYNC_')) delete process.env[name];
    Object.assign(process.env, env);
    const running = main(words);
    let code: number | null = null;
    const ended = running.then((given) => {
      code = given;
    });
    while (stopped && code === null) {
      for (const listener of process.listeners('SIGTERM')) if (!before.term.includes(listener)) listener('SIGTERM');
      await turn();
    }
    await ended;
    return { code: await running, stdout: stdout.join(''), stderr: stderr.join(''), log: log.join(''), shown };
  } finally {
    process.chdir(home);
    for (const name of Object.keys(process.env)) if (name.startsWith('OBSYNC_')) delete process.env[name];
    Object.assign(process.env, kept);
    for (const [stream, listeners] of [
      [process.stdout, before.out],
      [process.stderr, before.err],
    ] as const)
      for (const listener of stream.listeners('error'))
        if (!listeners.includes(listener)) stream.off('error', listener as () => void);
    for (const spy of spies) spy.mockRestore();
  }
}
