import type { Statement } from 'better-sqlite3';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import type { Row } from './test-mirror.ts';

/** A mirror whose reads are cached until a statement writes one of their tables. */
interface CachedReads {
  /** All writes of this connection must go through this. Commits of other connections are noticed. */
  readonly file: MirrorFile;
  /** The same array while nothing was written, so callers can tell by identity that no row changed. */
  rows(sql: string, ...values: unknown[]): readonly Row[];
  /** Call after other writes. */
  invalidate(): void;
}

interface CachedStatement {
  readonly statement: Statement;
  /** Null if it reads something else, such as a view. */
  readonly tables: readonly string[] | null;
  readonly answers: Map<string, { readonly version: number; readonly rows: readonly Row[] }>;
}

const SELECT_TABLES = "select name from sqlite_schema where type = 'table' and name <> 'seen_pages'";

export function cacheReads(opened: MirrorFile): CachedReads {
  const { connection } = opened;
  // The end of a transaction, which a timer may bring, writes `seen_pages`.
  const cacheable = new Set(connection.prepare(SELECT_TABLES).pluck().all());
  const statements = new Map<string, CachedStatement>();
  const writes = new Map<string, number>();
  let rollbacks = 0;
  const invalidate = (): void => {
    rollbacks += 1;
  };
  const others = opened.path === ':memory:' ? null : connection.prepare('pragma data_version').pluck();
  const prepareCached = (sql: string): CachedStatement => {
    const named = [...sql.matchAll(/\b(?:from|join)\s+"?(\w+)/gi)].map(([, name = '']) => name);
    const tables = named.every((name) => cacheable.has(name)) ? named : null;
    // See `plannedOnce` of the driver. A text may contain a question mark.
    const statement = opened.prepare(`cached ${sql}`, () =>
      sql.replace(/'[^']*'|\?/g, (part) => (part === '?' ? '+?' : part)),
    );
    const made = { statement, tables, answers: new Map() };
    statements.set(sql, made);
    return made;
  };
  const rows = (sql: string, ...values: unknown[]): readonly Row[] => {
    const { statement, tables, answers } = statements.get(sql) ?? prepareCached(sql);
    if (tables === null) return statement.all(...values) as Row[];
    // All counters only grow, so an equal sum means that none has changed.
    const written = rollbacks + Number(others?.get() ?? 0);
    const version = tables.reduce((sum, table) => sum + (writes.get(table) ?? 0), written);
    const key = values.join('\n');
    const held = answers.get(key);
    if (held?.version === version) return held.rows;
    const found = Object.freeze(statement.all(...values) as Row[]);
    answers.set(key, { version, rows: found });
    return found;
  };
  const prepare: MirrorFile['prepare'] = (name, text) => {
    const statement = opened.prepare(name, text);
    for (const table of tablesWrittenBy(statement)) writes.set(table, (writes.get(table) ?? 0) + 1);
    return statement;
  };
  const file = { ...opened, prepare, ...undoing(opened, invalidate) };
  return { file, rows, invalidate };
}

/** The parts of a mirror that can roll back, which is a write without a statement. */
function undoing({ connection, transactions }: MirrorFile, onRollback: () => void) {
  const facing = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      onRollback();
      throw error;
    }
  };
  const transaction = (work: () => unknown) => {
    const whole = connection.transaction(work);
    return () => facing(whole);
  };
  return {
    connection: Object.assign(Object.create(connection), { transaction }) as MirrorFile['connection'],
    transactions: {
      write: (work) => facing(() => transactions.write(work)),
      flush: () => facing(() => transactions.flush()),
    } satisfies MirrorFile['transactions'],
  };
}

const written = new WeakMap<Statement, readonly string[]>();

/** The tables that a statement writes, read from its SQL. */
export function tablesWrittenBy(statement: Statement): readonly string[] {
  const known = written.get(statement);
  if (known !== undefined) return known;
  const found = statement.source.matchAll(/\b(?:insert into|update|delete from)\s+"?(\w+)/gi);
  const tables = [...found].map(([, table = '']) => table);
  written.set(statement, tables);
  return tables;
}

const derived = new WeakMap<readonly Row[], unknown>();

/** Computes something from cached rows once. Call it with the same function for the same rows. */
export function derivedFrom<Derived>(rows: readonly Row[], derive: (rows: readonly Row[]) => Derived): Derived {
  if (!derived.has(rows)) derived.set(rows, derive(rows));
  return derived.get(rows) as Derived;
}
