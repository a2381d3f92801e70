import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { LoggedRequest } from '../model/world.ts';
import { freshPath, type Scene } from './scenes.ts';
import { type Sent, watchingStatements } from './statements.ts';
import { type Ended, syncFile } from './sync-file.ts';

/** What SIGKILL leaves of a mirror: what was written stays written, as the system keeps it for the process. */
export type Files = Readonly<Record<string, Buffer>>;

/** A moment of a run, before or after a statement or a request. */
export interface Point {
  readonly label: string;
  readonly nowMs: number;
  /** Requests sent by then, by collection. */
  readonly requests: Requests;
  /** Of the latter, those whose page was not committed yet. */
  readonly inFlight: Requests;
}

/** All points of a run at which the files are the same, by the last of them: it has sent the most. */
export interface State {
  readonly files: Files;
  readonly points: number;
  readonly last: Point;
}

export type Requests = ReadonlyMap<string, number>;

/** Nothing else touches the files. */
const MAY_WRITE = /^after (?!the request|select)/;

const SUFFIXES = ['', '-wal', '-journal'];

/** Runs a scene undisturbed and keeps every state that its files go through. */
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
  /** Called with the connection that writes, before it does. */
  tune?(connection: Database): void;
}

/** One run of a scene into a file, watched. */
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
      // The last of its settings.
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

/** The files of a state under a fresh path. */
export function restore(files: Files): string {
  const path = freshPath();
  for (const [suffix, bytes] of Object.entries(files)) writeFileSync(path + suffix, bytes);
  return path;
}

/** Requests by the collection they are for; all histories are one. */
export function countOf(log: readonly LoggedRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of log) {
    const parts = path.split('/').slice(1);
    const name = (parts.length === 3 ? parts.slice(2) : parts).join('/') || 'environments';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
