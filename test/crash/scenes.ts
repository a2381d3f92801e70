import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import {
  type EnvironmentModel,
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putScore,
  putTest,
  remove,
  removeAsset,
} from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld, DAY, HOUR, type World } from '../model/world.ts';
import { testFolder } from '../support/test-folder.ts';
import { type SyncFileOptions, syncFile } from './sync-file.ts';

/** A world in which no time passes, the mirror file before the tested run (none before a first sync), and that run. */
export interface Scene {
  readonly world: World;
  /** When the run begins. */
  readonly atMs: number;
  readonly options: SyncFileOptions;
  /** The options of every later run. */
  readonly nextOptions: SyncFileOptions;
  /** Creates a fresh path with the mirror that the run finds. */
  fresh(): string;
}

const folder = testFolder();
let paths = 0;

/** How many files are kept. Older ones are not needed any more. */
const KEPT = 100;

/** A path without a file. */
export function freshPath(): string {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.lock'])
    rmSync(pathOf(paths - KEPT) + suffix, { force: true });
  return pathOf(++paths);
}

function pathOf(number: number): string {
  return join(folder, `${number}.db`);
}

/** Nothing was mirrored before. */
async function firstSync(): Promise<Scene> {
  return sceneOf(createFurnished(), null, {});
}

/** Everything that feeds report: changes, tombstones, marks of every kind, new executions. */
async function increment(): Promise<Scene> {
  const world = createFurnished();
  const path = await synced(world, 'told.db');
  change(world.environment());
  world.advance(2 * HOUR);
  return sceneOf(world, path, {});
}

/** A full scan: vanished rows are swept, and rows that became visible to the token are added. */
async function fullScan(): Promise<Scene> {
  const world = createFurnished();
  const place = world.environment();
  place.hidden.add('a3');
  const path = await synced(world, 'hidden.db');
  place.hidden.delete('a3');
  change(place);
  remove(place, 'columns', 'a1.c3', 'lost');
  remove(place, 'tests', 't4', 'lost');
  remove(place, 'assets', 'o1', 'lost');
  // A later run scans only what this one left unscanned, which is due anyway.
  world.advance(8 * DAY);
  return sceneOf(world, path, { full: true });
}

/** A mirror whose first sync was killed at its start: it has one row and no secondary indexes. */
async function killedSync(): Promise<Scene> {
  const path = join(folder, 'killed.db');
  const { connection } = openForWriting(path);
  connection.exec(`insert into mirror (id, base_url, cursor_key) values (1, 'http://world.test', 'key')`);
  connection.exec(`insert into environments (id, name, mirrored_at) values ('e1', 'as it was', '')`);
  for (const name of connection.prepare(INDEXES).pluck().all()) connection.exec(`drop index ${name}`);
  connection.exec('vacuum');
  connection.close();
  return sceneOf(createFurnished(), path, {});
}

/** The indexes that a first sync creates at its end. */
const INDEXES = `select name from sqlite_schema where type = 'index' and sql > ''
  and tbl_name not in ('test_executions', 'sync_stream_runs')`;

function sceneOf(world: World, path: string | null, options: SyncFileOptions): Scene {
  return {
    world,
    atMs: world.nowMs,
    options,
    nextOptions: {},
    fresh() {
      const copy = freshPath();
      if (path !== null && existsSync(path)) copyFileSync(path, copy);
      return copy;
    },
  };
}

/** Several pages of each collection, old enough to be outside every overlap. */
function createFurnished(): World {
  const world = createWorld();
  const place = world.environment();
  furnish(place);
  putAsset(place, 'b2', { kind: 'bi' });
  putAsset(place, 'b3', { kind: 'bi' });
  putScore(place, 'a3', 0.25);
  putTest(place, 't5', 'a2', { disabled: true });
  for (const n of [1, 2, 3]) execute(place, 't5', `t5-r${n}`, { sub_test_unique_id: `t5.${n}` });
  world.advance(2 * HOUR);
  return world;
}

async function synced(world: World, name: string): Promise<string> {
  const path = join(folder, name);
  const { summary } = await syncFile(path, world, { pageSize: 2000 });
  if (summary?.status !== 'done') throw new Error(`the sync before is ${summary?.status}: ${summary?.error}`);
  world.advance(2 * HOUR);
  return path;
}

/** Makes the file grow by several pages. */
const LONG = 'changed '.repeat(4000);

function change(place: EnvironmentModel): void {
  putAsset(place, 'a4', { tags: ['new'], description: LONG });
  putAsset(place, 'a1', { description: LONG });
  putAsset(place, 'b1', { kind: 'table' });
  for (const n of [1, 2, 3]) putColumn(place, `a4.c${n}`, 'a4');
  putColumn(place, 'a1.c1', 'a1', { data_type: 'text' });
  putColumnEdges(place, 'a4.c1', ['a1.c1', 'a1.c2', 'a2.c1']);
  putColumnEdges(place, 'a3.c1', ['a1.c1']);
  putTest(place, 't6', 'a4', { description: LONG });
  putAssetEdge(place, 'a1', 'a4');
  place.assetEdges.delete('a3>b1');
  remove(place, 'columns', 'a2.c3');
  removeAsset(place, 'a2', 'lost');
  remove(place, 'tests', 't2');
  for (const id of ['t1', 't6']) for (const n of [1, 2, 3]) execute(place, id, `${id}-n${n}`);
  putScore(place, 'a1', 0.1);
}

/** Each kind of sync by name. */
export const MAKERS: Readonly<Record<string, () => Promise<Scene>>> = {
  'a first sync': firstSync,
  'an increment': increment,
  'a full scan': fullScan,
  'a sync of a file whose first sync was killed': killedSync,
};
