import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { LoggedRequest } from '../model/world.ts';
import { freshPath, type Scene } from './scenes.ts';
import { type Sent, watchingStatements } from './statements.ts';
import { type Ended, syncFile } from './sync-file.ts';

/** The files of a mirror after SIGKILL: everything written survives, because the system has it. */
export type Files = Readonly<Record<string, Buffer>>;

/** A point of a run, before or after a statement or a request. */
export interface Point {
  readonly label: string;
  readonly nowMs: number;
  /** The requests sent so far, by collection. */
  readonly requests: Requests;
  /** Those whose page was not committed yet. */
  readonly inFlight: Requests;
}

/** Points of a run with equal files, represented by the last one, which has sent the most requests. */
export interface State {
  readonly files: Files;
  readonly points: number;
  readonly last: Point;
}

export type Requests = ReadonlyMap<string, number>;

/** The content of the files, which nothing else writes. */
const MAY_WRITE = /^after (?!the request|select)/;

const SUFFIXES = ['', '-wal', '-journal'];

/** Runs a scene undisturbed and records every state of its files. */
export async function statesOf(scene: Scene, tune?: Watch['tune']): Promise<State[]> {
  const path = scene.fresh();
  const states: { files: Files; points: number; last: Point; before: number }[] = [];
  const { world } = scene;
  const from = world.log.length;
  const pass = (label: string): void => {
    const known = states.at(-1);
    const files = known === undefined || MAY_WRITE.test(label) ? readFiles(path, known?.files ?? {}) : known.files;
    const log = world.log.slice(from);
    const changed = known === undefined || SUFFIXES.some((suffix) => files[suffix] !== known.files[suffix]);
    const before = changed ? log.length : known.before;
    const last = { label, nowMs: world.nowMs, requests: countOf(log), inFlight: countOf(log.slice(before)) };
    if (changed) states.push({ files, points: 1, last, before });
    else states[states.length - 1] = { ...known, points: known.points + 1, last };
  };
  await watching(scene, path, tune === undefined ? { pass } : { pass, tune });
  return states;
}

export interface Watch {
  /** Called at every point; may throw there. */
  pass?(label: string): void;
  /** Called with the writing connection before it writes. */
  tune?(connection: Database): void;
}

/** Runs a scene into a file and watches its points. */
export async function watching(scene: Scene, path: string, { pass = () => {}, tune }: Watch): Promise<Ended> {
  const { world, options } = scene;
  const { beforeRequest, transformPage } = world;
  world.nowMs = scene.atMs;
  world.beforeRequest = ({ path }) => pass(`before the request ${path}`);
  world.transformPage = (page, { path }) => {
    pass(`after the request ${path}`);
    return page;
  };
  const watcher = {
    before: ({ sql }: Sent) => pass(`before ${sql}`),
    after: ({ sql, connection }: Sent) => {
      // The last setting of the connection.
      if (/^PRAGMA wal_autocheckpoint/.test(sql)) tune?.(connection as Database);
      pass(`after ${sql}`);
    },
  };
  try {
    return await watchingStatements(watcher, () => syncFile(path, world, options));
  } finally {
    Object.assign(world, { beforeRequest, transformPage });
  }
}

function readFiles(path: string, known: Files): Files {
  const files: Record<string, Buffer> = {};
  for (const suffix of SUFFIXES) {
    if (!existsSync(path + suffix)) continue;
    const bytes = readFileSync(path + suffix);
    const same = known[suffix];
    files[suffix] = same?.equals(bytes) ? same : bytes;
  }
  return files;
}

/** Copies the files of a state to a fresh path. */
export function restore(files: Files): string {
  const path = freshPath();
  for (const [suffix, bytes] of Object.entries(files)) writeFileSync(path + suffix, bytes);
  return path;
}

/** Counts requests by collection. All histories count as one. */
export function countOf(log: readonly LoggedRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of log) {
    const parts = path.split('/').slice(1);
    const name = (parts.length === 3 ? parts.slice(2) : parts).join('/') || 'environments';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
