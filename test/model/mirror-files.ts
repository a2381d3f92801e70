import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database, Statement } from 'better-sqlite3';
import { type MirrorFile, mirrorOn, openForWriting } from '../../src/destination/sqlite/open.ts';

/** An open mirror of a test. */
export interface OpenedFile {
  readonly opened: MirrorFile;
  close(): void;
}

export type OpenFile = (quietMs: number) => OpenedFile;

let empty: Buffer | null = null;

/** The bytes of an empty mirror, created once because migrations take most of the time. */
function emptyMirror(): Buffer {
  if (empty !== null) return empty;
  const folder = mkdtempSync(join(tmpdir(), 'obsync-empty-'));
  const path = join(folder, 'mirror.db');
  openForWriting(path).connection.close();
  empty = readFileSync(path);
  rmSync(folder, { recursive: true });
  return empty;
}

/** Opens an empty mirror in a file of its own. */
export function openInFile(quietMs: number): OpenedFile {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-world-'));
  const path = join(folder, 'mirror.db');
  writeFileSync(path, emptyMirror());
  const opened = openForWriting(path, quietMs);
  opened.connection.pragma('synchronous = OFF');
  const close = (): void => {
    opened.connection.close();
    rmSync(folder, { recursive: true });
  };
  return { opened, close };
}

/** A connection with an empty mirror in memory, and all statements that were ever prepared on it. */
interface IdleConnection {
  readonly connection: Database;
  readonly prepare: MirrorFile['prepare'];
}

const idle: IdleConnection[] = [];

/**
 * Opens an empty mirror in memory. Connections are used again, because opening one and preparing hundreds of statements
 * takes as long as a short history.
 */
export function openInMemory(quietMs: number): OpenedFile {
  const own = idle.pop() ?? connectInMemory();
  const made = mirrorOn(own.connection, ':memory:', quietMs, own.prepare);
  let isClosed = false;
  const guarded = <Given extends unknown[], Result>(method: (...given: Given) => Result) => {
    return (...given: Given): Result => {
      // What is left of a history that failed or crashed must not touch the next one.
      if (isClosed) throw new Error('the mirror was closed');
      return method(...given);
    };
  };
  const { connection, transactions } = made;
  const guardedConnection = {
    prepare: guarded((sql: string) => connection.prepare(sql)),
    exec: guarded((sql: string) => connection.exec(sql)),
    transaction: (work: () => unknown) => guarded(connection.transaction(work)),
  };
  const opened: MirrorFile = {
    ...made,
    connection: Object.assign(Object.create(connection), guardedConnection) as Database,
    prepare: guarded(made.prepare),
    transactions: {
      write: guarded(transactions.write) as typeof transactions.write,
      flush: guarded(transactions.flush),
    },
  };
  const close = (): void => {
    isClosed = true;
    endTransaction(made);
    own.prepare('begin').run();
    for (const table of tablesOf(own)) own.prepare(`delete from "${table}"`).run();
    own.prepare('commit').run();
    idle.push(own);
  };
  return { opened, close };
}

function connectInMemory(): IdleConnection {
  const { connection } = openForWriting(':memory:');
  const known = new Map<string, Statement>();
  const prepare: MirrorFile['prepare'] = (name, text = () => name) => {
    const statement = known.get(name) ?? connection.prepare(text());
    known.set(name, statement);
    return statement;
  };
  return { connection, prepare };
}

/** Ends the transaction of a mirror, and its timer. */
function endTransaction({ connection, transactions }: MirrorFile): void {
  try {
    transactions.flush();
  } catch {
    // Its work was lost before.
  }
  if (connection.inTransaction) connection.exec('rollback');
}

const tables = new WeakMap<Database, readonly string[]>();

const SELECT_TABLES = `select name from sqlite_schema where type = 'table' and name <> '__drizzle_migrations'
  union all select name from sqlite_temp_schema where type = 'table'`;

function tablesOf({ connection }: IdleConnection): readonly string[] {
  const found = tables.get(connection) ?? (connection.prepare(SELECT_TABLES).pluck().all() as string[]);
  tables.set(connection, found);
  return found;
}
