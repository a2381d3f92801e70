import type { Database } from 'better-sqlite3';
import { SyncError } from '../../core/errors.ts';

/** What is written through one connection, in transactions. */
export interface CommitTransactions {
  /**
   * Does the work in a transaction, all of it or none (R5). It is kept at once, with whatever waits; work that says of itself that
   * it was quiet may wait for what comes next, no longer than the connection allows.
   */
  write<Done extends { readonly isQuiet: boolean }>(work: () => Done): Done;
  /** Keeps what waits. @throws what lost it, if it could not be kept */
  keep(): void;
}

interface WaitingCommits {
  /** How long quiet work may wait; 0 for not at all. */
  readonly mostMs: number;
  /** Written last in every transaction. */
  finish(): void;
  /** The transaction is taken back. */
  undone(): void;
}

const ROLLED_BACK =
  'the last pages could not be kept, because the mirror could not be read or written: check the disk and run again; nothing is lost';

export function transacting(connection: Database, { mostMs, finish, undone }: WaitingCommits): CommitTransactions {
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => connection.prepare(sql));
  let timer: NodeJS.Timeout | null = null;
  let lost: { readonly error: unknown } | null = null;
  const stopWaiting = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const takeBack = (error: unknown): void => {
    // Whoever counts on what waited must not go on without it.
    if (timer !== null) lost = { error };
    stopWaiting();
    if (connection.inTransaction) rollback?.run();
    undone();
  };
  const attempt = <Done>(step: () => Done): Done => {
    // A statement outside of `write` that finds the disk full, or cannot read it, has SQLite roll back the whole transaction.
    if (timer !== null && !connection.inTransaction) takeBack(new SyncError('run', ROLLED_BACK));
    if (lost !== null) throw lost.error;
    try {
      return step();
    } catch (error) {
      takeBack(error);
      throw error;
    }
  };
  const end = (): void => {
    finish();
    commit?.run();
    stopWaiting();
  };
  const keep = (): void => attempt(() => (timer === null ? undefined : end()));
  const keepLate = (): void => {
    try {
      keep();
    } catch {
      // Whoever writes next, or keeps, is told.
    }
  };
  return {
    keep,
    write(work) {
      // Within a transaction of another's making it ends with that.
      if (connection.inTransaction && timer === null) return connection.transaction(work)();
      return attempt(() => {
        if (timer === null) begin?.run();
        const done = work();
        if (!done.isQuiet || mostMs === 0) end();
        else timer ??= setTimeout(keepLate, mostMs);
        return done;
      });
    },
  };
}
