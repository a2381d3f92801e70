import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { assetId } from './serve-mirror.ts';

export const ROOT = '/public/beta/bench';
export const MASTER = 'all';

/** Restricted tokens by name; the name is the token. */
const PARTIAL = {
  ids: { asset_ids: [1, 2, 3].map(assetId) },
  path: { paths: ['models/marts/area_1'] },
  nothing: { paths: ['none'] },
};

/** A serving program; `cpuMs` is its CPU time so far. */
export interface Serving {
  readonly baseUrl: string;
  cpuMs(): number;
  /** The longest time that its main thread was blocked since the last call. */
  blockedMs(): Promise<number>;
  get(path: string, token?: string): Promise<Response>;
  /** The addresses of the first pages of a list. */
  followPages(path: string, pages: number): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts the real program, as built, with a mirror file. */
export async function startServe(file: string, folder: string): Promise<Serving> {
  const tokens = join(folder, 'tokens.json');
  writeFileSync(tokens, JSON.stringify(Object.entries(PARTIAL).map(([name, part]) => ({ ...key(name), ...part }))));
  const options = ['--port', '0', '--tokens', tokens, '--rate-limit', 'off', '--log-level', 'warn'];
  return launch(['dist/main.js', 'serve', '--db', file, ...options]);
}

/** Starts the minimal server with the same rows. */
export const startPlain = (file: string): Promise<Serving> => launch(['bench/serve-plain.ts', file]);

async function launch(args: readonly string[]): Promise<Serving> {
  const program = spawn(process.execPath, ['--import', './bench/note-delay.ts', ...args], {
    env: { ...process.env, OBSYNC_SERVE_TOKEN: MASTER },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  process.once('exit', () => program.kill());
  const [baseUrl] = (await once(createInterface({ input: program.stdout as Readable }), 'line')) as [string];
  const get = (path: string, token = MASTER): Promise<Response> =>
    fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } });
  return {
    baseUrl,
    get,
    cpuMs: () => cpuMsOf(program.pid),
    blockedMs: async () => {
      program.send('held');
      const [ms] = (await once(program, 'message')) as [number];
      return ms;
    },
    followPages: (path, pages) => followPages(get, path, pages),
    stop: async () => {
      program.kill();
      await once(program, 'exit');
    },
  };
}

const key = (name: string) => ({ name, token_sha256: createHash('sha256').update(name).digest('hex') });

async function followPages(get: Serving['get'], path: string, pages: number): Promise<string[]> {
  const paths: string[] = [];
  for (let next = path; paths.length < pages; ) {
    paths.push(next);
    const { next_cursor } = (await (await get(ROOT + next)).json()) as { next_cursor: string };
    next = `${path}&cursor=${next_cursor}`;
  }
  return paths;
}

/** From Linux, in hundredths of a second. */
function cpuMsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
