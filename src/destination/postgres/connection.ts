import type { SqlAnswer } from '../sql/statements.ts';

/** A connection to the server, or one that a pooler lends for a transaction: it keeps no state between transactions. */
export interface PostgresConnection {
  /**
   * Runs one statement. `values` are those of `$1`, `$2`, …; values in the rows are converted to what SQLite would
   * return. A text without values may hold several statements; the result is that of the last one.
   */
  query(text: string, values?: readonly unknown[]): Promise<SqlAnswer>;
}

export interface PostgresTransaction extends PostgresConnection {
  /** Sends a statement without waiting for its result. If it fails, so does the transaction. */
  send(text: string, values?: readonly unknown[]): void;
}
