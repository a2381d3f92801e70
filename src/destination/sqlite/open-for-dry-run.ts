import Database from 'better-sqlite3';
import { getTableName } from 'drizzle-orm';
import { environments } from '../../../schema/assets.ts';
import {
  heldRemovals,
  historyFailures,
  listLengths,
  marks,
  mirrorEnvironments,
  mirror as mirrorTable,
  rejectedRows,
  seenPages,
  syncCheckpoints,
  syncRuns,
  syncStreamRuns,
  testExecutionGaps,
  testReadings,
} from '../../../schema/sync.ts';
import { fileError } from './file-error.ts';
import { bringUpToDate } from './migrations.ts';
import { type MirrorFile, mirrorExists, mirrorOn, openForReading } from './open.ts';
import { openStaging } from './stage.ts';
import { quote } from './table-sql.ts';

/**
 * Opens a mirror to try a run on: it reads the file as it is now, and what it writes of its state stays in memory. Without a
 * file the mirror is an empty one. Nothing is locked, nothing is written. @throws SyncError `usage`
 */
export function openForDryRun(path: string): MirrorFile {
  if (!mirrorExists(path)) return emptyMirror();
  const mirror = openForReading(path);
  try {
    mirror.connection.pragma('temp_store = memory');
    // One view of the file, whatever a run writes meanwhile.
    mirror.connection.exec('begin');
    for (const name of STATE) shadow(mirror, name, '');
    shadow(mirror, getTableName(syncStreamRuns), OPEN_CYCLES);
    mirror.connection.exec(`create index temp.by_stream on ${getTableName(syncStreamRuns)} (env_id, stream, run_id)`);
    for (const name of gatheringTables(mirror)) shadow(mirror, name, 'where false');
    openStaging(mirror.connection);
    return mirror;
  } catch (error) {
    mirror.connection.close();
    throw fileError(path, error);
  }
}

function emptyMirror(): MirrorFile {
  const mirror = mirrorOn(new Database(':memory:'), ':memory:');
  bringUpToDate(mirror);
  openStaging(mirror.connection);
  return mirror;
}

/** What a run writes beside the rows it mirrors. */
const STATE = [
  environments,
  mirrorTable,
  mirrorEnvironments,
  syncRuns,
  syncCheckpoints,
  marks,
  heldRemovals,
  rejectedRows,
  testReadings,
  testExecutionGaps,
  historyFailures,
].map((table) => getTableName(table));

/** All that decides whether a run carries on a cycle (`joinCycle`): what was done since the oldest that may go on began. */
const OPEN_CYCLES = `where run_id >= (select min(cycle_id) from main.sync_runs where left_over is not null
  and julianday(started_at) > (select max(julianday(started_at)) from main.sync_runs) - 2)`;

/** Of what was seen, gathered and measured before, the run tried needs nothing: for what is expected, `main.` has it. */
function gatheringTables({ connection }: MirrorFile): string[] {
  const staged = connection.prepare(`select name from main.sqlite_schema where type = 'table' and name like '%\\_staged'
    escape '\\'`);
  return [getTableName(seenPages), getTableName(listLengths), ...(staged.pluck().all() as string[])];
}

/** SQLite takes a name for that of the temporary table, where there is one: from now on the file's own is only read from. */
export function shadow({ connection }: MirrorFile, name: string, where: string): void {
  const made = connection.prepare("select sql from main.sqlite_schema where type = 'table' and name = ?").pluck();
  connection.exec(String(made.get(name)).replace(/^CREATE TABLE/i, 'CREATE TEMP TABLE'));
  connection.exec(`insert into temp.${quote(name)} select * from main.${quote(name)} ${where}`);
}
