import { closeSync, openSync, readSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import type { MirrorVersions, PruningReach } from '../../core/decide/plan-refresh.ts';
import { usageError } from '../../core/errors.ts';
import { replacing } from '../sql/conflicts.ts';
import { type CopiedRow, type CopiedTable, type RowSelection, whereWithin } from '../sql/copied-tables.ts';
import { list, matches, quote } from '../sql/tables.ts';
import { closeFile, orClose } from './close.ts';
import { insertRows, removeFile, startFile } from './copy.ts';
import { SQLITE } from './driver.ts';
import { sqliteMigrationTimes, sqliteVersion } from './migrations.ts';
import { isDamage, isReplica, MAX_IDLE_LOG_BYTES, mirrorExists, REPLICA_ID } from './open.ts';

/** A replica during a refresh, in one transaction. */
export interface ReplicaFile extends ReturnType<typeof contents> {
  /** Of which state of its mirror it is a replica; null if it is new. */
  readonly known: MirrorVersions | null;
  /** Commits what was written, as of this state of the mirror. */
  finish(versions: MirrorVersions): void;
  /** Leaves the replica as it was. */
  abandon(): void;
}

/** All keys of an environment's rows or of all, perhaps only of those in a stretch. */
interface RetainedKeys {
  readonly envId: string | null;
  readonly keys: AsyncIterable<readonly CopiedRow[]>;
  readonly within: RowSelection['within'];
}

export interface ReplicaPlace {
  readonly path: string;
  /** Whether the path is obsync's own choice: then any file there may be replaced. */
  readonly isOwn: boolean;
}

/**
 * Opens a replica, or starts a new one instead of a missing, damaged or outdated one. Without `isChecked`, only damage
 * to its first pages is noticed.
 * @throws SyncError `usage`
 */
export function openReplicaFile(place: ReplicaPlace, isChecked: boolean): ReplicaFile {
  const { path } = place;
  return isCurrent(place) && (!isChecked || isIntact(path)) ? openCurrent(path) : startReplica(path);
}

/**
 * Keeps the changes of refreshes in the log until it is large: without another connection, closing the one of a refresh
 * copies its log into the file.
 * @returns a function that leaves the file complete without the log, unless another program uses it
 */
export function holdReplicaLog(path: string): () => void {
  const reader = new Sqlite(path, { readonly: true });
  reader.pragma('application_id');
  return () => {
    let last: Database | null = null;
    try {
      last = new Sqlite(path, { fileMustExist: true, timeout: 0 });
      last.pragma('application_id');
    } catch {
      // What is in the log is safe.
    } finally {
      reader.close();
      last?.close();
    }
  };
}

/** Starts a new replica, which replaces the file only when it is finished. */
export function startReplica(path: string): ReplicaFile {
  const made = startFile(path, OWNER_ONLY);
  return {
    ...contents(made.connection),
    known: null,
    finish(versions) {
      made.connection.exec('create table replica (state text not null)');
      save(made.connection, versions);
      made.connection.pragma(`application_id = ${REPLICA_ID}`);
      // A log left beside the file that it replaces would be taken for its own.
      made.finish(() => removeFile(path));
    },
    abandon: made.abandon,
  };
}

const OWNER_ONLY = 0o600;

/** @throws SyncError `usage` for a file that is not a replica */
function isCurrent({ path, isOwn }: ReplicaPlace): boolean {
  if (!mirrorExists(path)) return false;
  const found = readUndamaged(path, (connection) => ({
    isReplica: isReplica(connection),
    version: sqliteVersion(connection),
  })) ?? { isReplica: hasReplicaHeader(path), version: null };
  if (found.isReplica) return found.version === sqliteMigrationTimes().last;
  if (isOwn) return false;
  throw usageError(`${path} is not a replica: remove it, or name another file for the replica`);
}

/** Whether SQLite finds no damage in a file. */
export function isIntact(path: string): boolean {
  return readUndamaged(path, (connection) => connection.pragma('quick_check(1)', { simple: true })) === 'ok';
}

/** Null if the file is damaged. */
function readUndamaged<Found>(path: string, read: (connection: Database) => Found): Found | null {
  let connection: Database | null = null;
  try {
    connection = new Sqlite(path, { readonly: true });
    return read(connection);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  } finally {
    connection?.close();
  }
}

/**
 * Reads the header of a file that SQLite does not open. It must not be called for an intact file: closing a file
 * releases all locks that this process has on it, also those of SQLite.
 */
function hasReplicaHeader(path: string): boolean {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  return header.readUInt32BE(APPLICATION_ID_AT) === REPLICA_ID;
}

/** Where SQLite's file format has the number of a file's program. */
const [HEADER_BYTES, APPLICATION_ID_AT] = [100, 68];

function openCurrent(path: string): ReplicaFile {
  return orClose({ connection: new Sqlite(path, { timeout: 10_000 }) }, closeFile, ({ connection }) => {
    connection.pragma('synchronous = NORMAL');
    // Changed rows are all over the file: copying the log into it at every refresh would write each page twice.
    connection.pragma('wal_autocheckpoint = 20000');
    // With a permanent reader, the log would otherwise keep the largest size it ever had.
    connection.pragma(`journal_size_limit = ${MAX_IDLE_LOG_BYTES}`);
    connection.exec('begin immediate');
    return {
      ...contents(connection, ROWS_PER_STATEMENT),
      known: readState(connection),
      finish(versions) {
        save(connection, versions);
        connection.exec('commit');
        connection.close();
      },
      abandon: () => void connection.close(),
    };
  });
}

/** A statement for several rows saves each page before it changes it, to undo what it did if it fails. */
const ROWS_PER_STATEMENT = 1;

function contents(connection: Database, rowsAtOnce?: number) {
  return {
    pruned: () => connection.prepare<[], PruningReach>('select * from pruned_history').all(),
    /** The runs in the log, in their order. */
    runs: () => connection.prepare<[], number>('select id from sync_runs order by id').pluck().all(),
    /** Inserts rows of which it has none. */
    insert: (table: CopiedTable, rows: readonly CopiedRow[]) => insertRows(connection, table, rows, rowsAtOnce),
    /** Inserts rows, or replaces those with the same keys. */
    replace: (table: CopiedTable, rows: readonly CopiedRow[]) => replaceRows(connection, table, rows),
    /** Deletes the rows of an environment, or all. */
    clear({ name }: CopiedTable, envId: string | null) {
      if (envId === null) connection.exec(`delete from ${quote(name)}`);
      else connection.prepare(`delete from ${quote(name)} where env_id = ?`).run(envId);
    },
    /** As in `SourceSnapshot`. */
    count({ name }: CopiedTable, envId: string | null) {
      const where = envId === null ? '' : ' where env_id = @envId';
      const count = connection.prepare(`select count(*) from ${quote(name)}${where}`);
      return Number(count.pluck().get({ envId }));
    },
    /** Deletes the rows whose keys are not among the given ones. */
    retain: (table: CopiedTable, kept: RetainedKeys) => retain(connection, table, kept),
  };
}

/**
 * Assigns indexed columns only if they differ, because SQLite writes an entry of an index again even if its columns are
 * assigned the same values. `mirrored_at` differs in every changed row (R21).
 */
function replaceRows(connection: Database, table: CopiedTable, rows: readonly CopiedRow[]): void {
  const { name, columns, key } = table;
  const indexed = new Set([...key, ...connection.prepare<[string], string>(INDEXED_COLUMNS).pluck().all(name)]);
  const others = columns.filter((column) => !indexed.has(column));
  const assigned = others.map((column) => `${quote(column)} = ?`).join(', ');
  const isSame = [...indexed].map((column) => `${quote(column)} ${key.includes(column) ? '=' : 'is'} ?`).join(' and ');
  const update = connection.prepare(`update ${quote(name)} set ${assigned} where ${isSame}`);
  const order = [...others, ...indexed].map((column) => columns.indexOf(column));
  const upsert = connection.prepare(
    `insert into ${quote(name)} (${list(columns)}) values (${columns.map(() => '?').join(', ')})
      ${replacing(SQLITE, table)}`,
  );
  for (const row of rows) if (update.run(order.map((at) => row[at])).changes === 0) upsert.run(row);
}

const INDEXED_COLUMNS = `select distinct c.name from pragma_index_list(?) i join pragma_index_info(i.name) c
  where c.name <> 'mirrored_at'`;

async function retain(
  connection: Database,
  { name, key, kinds }: CopiedTable,
  { envId, keys, within }: RetainedKeys,
): Promise<void> {
  // Without the table's own types, SQLite would convert each compared value, and could use no index.
  const typed = key.map((column) => `${quote(column)} ${kinds.get(column) === 'integer' ? 'integer' : 'text'}`);
  connection.exec(`create temp table kept (${typed.join(', ')}, primary key (${list(key)})) without rowid`);
  const insert = connection.prepare(`insert into kept values (${key.map(() => '?').join(', ')})`);
  for await (const rows of keys) for (const row of rows) insert.run(row);
  const values: string[] = [];
  const bind = (value: string): string => {
    values.push(value);
    return '?';
  };
  const among = (column: string, select: string): string => `${column} in (${select})`;
  const own = envId === null ? 'true' : `env_id = ${bind(envId)}`;
  const stretch = within === undefined ? 'true' : whereWithin(within, { bind, among });
  const others = connection.prepare(`delete from ${quote(name)} as t where ${own} and ${stretch}
    and not exists (select 1 from kept k where ${matches('k', 't', key)})`);
  others.run(values);
  connection.exec('drop table temp.kept');
}

/** `MirrorVersions` as JSON, in which a map is a list of entries. */
interface StoredState {
  readonly identity: string;
  readonly newestRun: MirrorVersions['newestRun'];
  readonly clocks: readonly [string, string][];
  readonly removals: readonly [string, string][];
  readonly allEndedBefore: string;
  readonly versions: readonly [string, readonly [string, string][]][];
}

/** Null for one that an interrupted or older program left. */
function readState(connection: Database): MirrorVersions | null {
  const text = connection.prepare<[], string>('select state from replica').pluck().get();
  if (text === undefined) return null;
  const { identity, newestRun, clocks, removals, versions, allEndedBefore } = JSON.parse(text) as StoredState;
  return {
    identity,
    newestRun,
    allEndedBefore,
    clocks: new Map(clocks),
    removals: new Map(removals),
    versions: new Map(versions.map(([table, ofTable]) => [table, new Map(ofTable)])),
  };
}

function save(connection: Database, versions: MirrorVersions): void {
  const state: StoredState = {
    ...versions,
    clocks: [...versions.clocks],
    removals: [...versions.removals],
    versions: [...versions.versions].map(([table, ofTable]) => [table, [...ofTable]]),
  };
  connection.exec('delete from replica');
  connection.prepare('insert into replica (state) values (?)').run(JSON.stringify(state));
}
