import type { Database } from 'better-sqlite3';
import { SyncError } from '../../core/errors.ts';

type PossiblyQuiet = { readonly isQuiet: boolean };

interface WaitingCommits {
  /** How long quiet work may wait; 0 for not at all. */
  readonly maxMs: number;
  /** Writes the last part of every transaction. */
  finish(): void;
  /** Called after a rollback. */
  undone(): void;
}

/**
 * - `idle`: no transaction is open
 * - `waiting`: a transaction with quiet work is open until the timer ends it
 * - `lost`: waiting work was rolled back; nothing may be written any more, because callers rely on it
 */
type TransactionState =
  | { readonly is: 'idle' }
  | { readonly is: 'waiting'; readonly timer: NodeJS.Timeout }
  | { readonly is: 'lost'; readonly error: unknown };

const ROLLED_BACK =
  'the last pages could not be saved, because the mirror could not be read or written: check the disk and run again; nothing is lost';

/** Writes through one connection, in transactions. */
export function createTransactions(connection: Database, { maxMs, finish, undone }: WaitingCommits) {
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => connection.prepare(sql));
  let state: TransactionState = { is: 'idle' };
  const enter = (next: TransactionState): void => {
    if (state.is === 'waiting') clearTimeout(state.timer);
    state = next;
  };
  const rollBack = (error: unknown): void => {
    enter(state.is === 'waiting' ? { is: 'lost', error } : { is: 'idle' });
    if (connection.inTransaction) rollback?.run();
    undone();
  };
  const attempt = <Done>(step: () => Done): Done => {
    // If a statement outside of `write` finds the disk full or unreadable, SQLite rolls back the whole transaction.
    if (state.is === 'waiting' && !connection.inTransaction) rollBack(new SyncError('run', ROLLED_BACK));
    if (state.is === 'lost') throw state.error;
    try {
      return step();
    } catch (error) {
      rollBack(error);
      throw error;
    }
  };
  const end = (): void => {
    finish();
    commit?.run();
    enter({ is: 'idle' });
  };
  const flush = (): void => attempt(() => (state.is === 'waiting' ? end() : undefined));
  const keepLate = (): void => {
    try {
      flush();
    } catch {
      // The next call of `write` or `flush` throws it.
    }
  };
  const writeNow = <Done extends PossiblyQuiet>(work: () => Done): Done => {
    if (state.is === 'idle') begin?.run();
    const done = work();
    if (!done.isQuiet || maxMs === 0) end();
    else if (state.is === 'idle') enter({ is: 'waiting', timer: setTimeout(keepLate, maxMs) });
    return done;
  };
  return {
    /** Commits waiting work. @throws the reason if it was lost */
    flush,
    /**
     * Does the work in one transaction (R5). Quiet work may wait for the next one, up to the connection's limit; other
     * work is committed at once, with whatever waits.
     */
    write<Done extends PossiblyQuiet>(work: () => Done): Done {
      // Within another caller's transaction, the work ends with it.
      if (connection.inTransaction && state.is !== 'waiting') return connection.transaction(work)();
      return attempt(() => writeNow(work));
    },
  };
}
