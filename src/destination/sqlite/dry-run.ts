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
import { loadCheckpoints } from '../../../state/checkpoint-store.ts';
import { createStateStore } from '../../../state/sqlite-state-store.ts';
import type { Checkpoint } from '../../core/checkpoint.ts';
import type { Commit, Destination } from '../../core/destination.ts';
import type { Instant } from '../../core/instant.ts';
import type { SourceExpectations } from '../../core/source-expectations.ts';
import type { StateStore } from '../../core/state-store.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import { firstKey, tableOf } from '../sql/conditions.ts';
import { quote, tableSqlOf } from '../sql/tables.ts';
import { createDestination } from './destination.ts';
import { expectedRows } from './expected.ts';
import { fileError } from './file-error.ts';
import { bringUpToDate } from './migrations.ts';
import { type MirrorFile, mirrorExists, mirrorOn, openForReading } from './open.ts';
import { createRunTables } from './temporary-tables.ts';

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
    createRunTables(mirror.connection);
    return mirror;
  } catch (error) {
    mirror.connection.close();
    throw fileError(path, error);
  }
}

function emptyMirror(): MirrorFile {
  const mirror = mirrorOn(new Database(':memory:'), ':memory:');
  bringUpToDate(mirror);
  createRunTables(mirror.connection);
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
function shadow({ connection }: MirrorFile, name: string, where: string): void {
  const made = connection.prepare("select sql from main.sqlite_schema where type = 'table' and name = ?").pluck();
  connection.exec(String(made.get(name)).replace(/^CREATE TABLE/i, 'CREATE TEMP TABLE'));
  connection.exec(`insert into temp.${quote(name)} select * from main.${quote(name)} ${where}`);
}

/** A mirror on which a run can be tried, and what it makes one expect of the source. */
interface DryRunDestination extends SourceExpectations {
  readonly state: StateStore;
  destination(envId: string, run: number): Destination;
}

/** `mirror` as `openForDryRun` gives it. */
export function createDryRunMirror(mirror: MirrorFile, clock: () => Instant): DryRunDestination {
  const stored = new Map<string, ReadonlyMap<StreamName, Checkpoint>>();
  const storedOf = (envId: string): ReadonlyMap<StreamName, Checkpoint> => {
    const known = stored.get(envId) ?? loadCheckpoints(mirror.db, envId);
    stored.set(envId, known);
    return known;
  };
  return {
    state: createStateStore(mirror.db, clock),
    destination(envId, run) {
      storedOf(envId);
      return destinationOf(mirror, { envId, run, clock });
    },
    expected: async (envId, stream, request, now) =>
      expectedRows(mirror, envId, { stream, request, stored: storedOf(envId), now }),
    async refused(envId, stream) {
      const status = mirror.connection.prepare(LAST_STATUS).pluck().get(envId, stream.name);
      return status === 'denied' ? 'forbidden' : status === 'unavailable' ? 'not-live' : null;
    },
  };
}

/** Of the last run that asked for anything and was answered. */
const LAST_STATUS = `select status from main.sync_stream_runs
  where env_id = ? and stream = ? and requests > 0 and status <> 'stopped' order by run_id desc limit 1`;

/** Whose part of the mirror a run is tried on. */
type DryRunOptions = Parameters<typeof createDestination>[1];

/**
 * A destination to which nothing new is shown, because the source is what the mirror has of it: no page is missed by a scan,
 * nothing goes. What was held back before is still not shown (R14).
 */
function destinationOf(mirror: MirrorFile, dryRunOptions: DryRunOptions): Destination {
  const real = createDestination(mirror, dryRunOptions);
  return {
    ...real,
    backlog: async (stream, ask) => {
      if (ask.about === 'candidates' && stream.staged === undefined)
        return { ids: heldIds(mirror, dryRunOptions.envId, { stream, after: ask.after }), weighed: null };
      if (ask.about === 'unshown' && ask.mode === 'scan' && stream.staged !== undefined)
        return { ids: heldLeaders(mirror, dryRunOptions.envId, { stream, after: ask.after }), weighed: null };
      // The source is expected to show all: what the feed has shown by then is not asked for again (R18, R22).
      const isShown =
        ask.about === 'candidates' || ask.about === 'unshown' || (ask.about === 'marked' && ask.before === null);
      return isShown ? { ids: [], weighed: null } : real.backlog(stream, ask);
    },
    countRemovals: async () => ({ live: 0, toRemove: 0 }),
    commit: async (stream, commit, marking) => {
      if (commit.kind === 'release') for (const name of releasedFrom(stream)) shadowWhole(mirror, name);
      return real.commit(stream, withoutRemovals(commit), marking);
    },
  };
}

function withoutRemovals(commit: Commit): Commit {
  if (commit.kind === 'round-end')
    return { ...commit, roundEnd: { ...commit.roundEnd, sweep: null, replace: null, isWhole: false } };
  if (commit.kind !== 'page') return commit;
  const { sweptParents: _, ...others } = commit;
  return others;
}

function heldIds(
  { connection }: MirrorFile,
  envId: string,
  { stream, after }: { stream: Stream; after: string },
): string[] {
  const sql = `select h.key_1 from held_removals h join ${tableOf(stream)} t on t.env_id = h.env_id and t.id = h.key_1
    where h.env_id = ? and h.stream = ? and h.key_1 > ? and t.deleted_at is null order by h.key_1 limit 1000`;
  return connection.prepare(sql).pluck().all(envId, stream.name, after) as string[];
}

/** Rows held back of the leading list that have edges: the list is asked whether they are in sight (R18). */
function heldLeaders(
  { connection }: MirrorFile,
  envId: string,
  { stream, after }: { stream: Stream; after: string },
): string[] {
  const sql = `select h.key_1 from held_removals h where h.env_id = ? and h.stream = ? and h.key_1 > ?
    and exists (select 1 from ${tableOf(stream)} t where t.env_id = h.env_id and t.${firstKey(stream)} = h.key_1)
    order by h.key_1 limit 1000`;
  return connection.prepare(sql).pluck().all(envId, tableSqlOf(stream.parentTable?.table).name, after) as string[];
}

/** Tables that letting go of what is held back writes to. */
function releasedFrom({ table, parentTable, cascade, childTables = [] }: Stream): string[] {
  const tables = [table, parentTable?.table, cascade?.table, ...childTables.map((part) => part.table)];
  return tables.filter((each) => each !== undefined).map((each) => tableSqlOf(each).name);
}

function shadowWhole(mirror: MirrorFile, name: string): void {
  const held = mirror.connection.prepare('select 1 from temp.sqlite_schema where name = ?').get(name);
  if (held === undefined && mirror.path !== ':memory:') shadow(mirror, name, '');
}
