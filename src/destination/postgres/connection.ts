import type { SqlAnswer } from '../sql/statements.ts';

/** One connection to the server, or one that a pooler gives for a transaction: nothing is kept in it from one transaction to the next. */
export interface PostgresConnection {
  /** Runs one statement. `values` are those of `$1`, `$2`, …; the rows hold what SQLite would give. */
  query(text: string, values?: readonly unknown[]): Promise<SqlAnswer>;
}
