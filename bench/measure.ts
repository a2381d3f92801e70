import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { buildSync } from 'esbuild';
import { openForWriting } from '../src/destination/sqlite/open.ts';
import type { WorldSize } from './world.ts';

/** The resources that a process used. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly peakMiB: number;
  /** The bytes it passed to the system for writing, whether or not they have reached the disk. */
  readonly writtenMiB: number;
  readonly requests: number;
}

/** The disk space of a mirror, as it is and after VACUUM. */
export interface Size {
  readonly fileMiB: number;
  readonly vacuumedMiB: number;
}

/** Compiled like obsync itself: stripping types at every start would cost more than some of the measured runs. */
const COMPILED = '.compiled-bench';
export const BARE_LOOP = `${COMPILED}/bare-loop.js`;

/** A sync, in the arguments of `Bench.run`. */
export const SYNC = ['dist/main.js', 'sync', '--json', '--log-level', 'error'];

/** A service, and a folder for one mirror at a time. */
export interface Bench {
  readonly db: string;
  /**
   * Runs one process until it exits. In its arguments `URL` stands for the service, `DB` for the mirror and `EMPTY` for
   * one without rows. With `otherDb` the process uses that mirror.
   */
  run(args: readonly string[], otherDb?: string): Promise<Usage>;
  /** The same, but killed at a request; its usage is lost. */
  kill(args: readonly string[], atRequest: number, otherDb?: string): Promise<void>;
  /** Changes one row in a hundred at the service: no edges, or also those into the changed columns. */
  change(edges?: 'edges'): Promise<void>;
  size(): Size;
  /** Deletes the mirror. */
  clear(): void;
  close(): void;
}

export async function openBench(world: WorldSize): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-bench-'));
  const entryPoints = ['bench/bare-loop.ts', 'bench/note-usage.ts'];
  buildSync({ entryPoints, outdir: COMPILED, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  const { server, baseUrl } = await serve(world);
  const db = join(folder, 'mirror.db');
  const usageFile = join(folder, 'usage.json');
  const places: Readonly<Record<string, string>> = { URL: baseUrl, DB: db, EMPTY: join(folder, 'empty.db') };
  openForWriting(places['EMPTY'] as string).connection.close();
  const start = (args: readonly string[], otherDb = db): ChildProcess => {
    const filled = args.map((arg) => places[arg] ?? arg);
    const own = {
      OBSYNC_BASE_URL: baseUrl,
      OBSYNC_TOKEN: 'bench',
      OBSYNC_DB: otherDb,
      BENCH_USAGE: usageFile,
      XDG_STATE_HOME: folder,
      XDG_CACHE_HOME: folder,
    };
    const options = {
      env: { ...process.env, ...own },
      stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
    };
    return spawn(process.execPath, ['--import', `./${COMPILED}/note-usage.js`, ...filled], options);
  };
  const clear = (): void => {
    for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(db + suffix, { force: true });
  };
  return {
    db,
    async run(args, otherDb) {
      const { code, out, errors } = await ended(start(args, otherDb));
      if (code !== 0) throw new Error(`${args.join(' ')} ended ${code}: ${errors.slice(-500)}`);
      const { requests = 0 } = out.startsWith('{') ? (JSON.parse(out) as { requests?: number }) : {};
      return { ...(JSON.parse(readFileSync(usageFile, 'utf8')) as Omit<Usage, 'requests'>), requests };
    },
    async kill(args, atRequest, otherDb) {
      const child = start(args, otherDb);
      await fetch(`${baseUrl}/die/${atRequest}`, { method: 'POST', body: String(child.pid) });
      await ended(child);
    },
    async change(edges) {
      await fetch(`${baseUrl}/change${edges === undefined ? '' : '/edges'}`, { method: 'POST' });
    },
    size: () => sizeOf(db, join(folder, 'packed.db')),
    clear,
    close() {
      server.stdin?.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The service in a process of its own, until its stdin ends. */
export async function serve(world: WorldSize): Promise<{ server: ChildProcess; baseUrl: string }> {
  const args = ['--max-old-space-size=12288', 'bench/page-server.ts', JSON.stringify(world)];
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => createInterface({ input: server.stdout }).once('line', resolve));
  return { server, baseUrl: `http://127.0.0.1:${port}` };
}

export async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; errors: string }> {
  const said = [child.stdout, child.stderr].map((output) => (output === null ? '' : text(output)));
  const [[code], out = '', errors = ''] = await Promise.all([once(child, 'close'), ...said]);
  return { code, out, errors };
}

function sizeOf(path: string, packed: string): Size {
  const connection = new Database(path);
  connection.exec(`vacuum into '${packed}'`);
  connection.close();
  const mib = (file: string): number => statSync(file).size / 2 ** 20;
  const size = { fileMiB: mib(path), vacuumedMiB: mib(packed) };
  rmSync(packed);
  return size;
}
