import type { SqlAnswer } from '../sql/statements.ts';

/**
 * One connection to the server, or one that a pooler gives for a transaction: nothing is kept in it from one
 * transaction to the next.
 */
export interface PostgresConnection {
  /**
   * Runs one statement. `values` are those of `$1`, `$2`, …; the rows hold what SQLite would give. A text without
   * values may hold several statements: the answer is that of the last one.
   */
  query(text: string, values?: readonly unknown[]): Promise<SqlAnswer>;
}

/** A connection inside a transaction. */
export interface PostgresTransaction extends PostgresConnection {
  /** Runs a statement whose answer nobody needs, without a wait for it. If it fails, so does the transaction. */
  send(text: string, values?: readonly unknown[]): void;
}
