/**
 * Where names are looked for: in the schema of a mirror. Temporary tables come last, or they would come first: behind a
 * pooler, the session may hold those of another program.
 */
function searchPath(schema: string): string {
  return `${quoteIdentifier(schema)}, pg_temp`;
}

export function quoteIdentifier(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`;
}

/** What holds in a transaction. */
export interface TransactionSettings {
  readonly schema: string;
  /** Such as `isolation level read committed`. */
  readonly mode: string;
  /** After so long without a statement the server ends it; 0 for never, and then no statement is too long either. */
  readonly idleTimeoutMs: number;
}

/**
 * Statements that begin a transaction and set what holds in it: where its tables are and how the server writes values.
 * A pooler may give each transaction another session, so nothing is set for longer. They have no values, so that one
 * message holds them all.
 */
export function beginStatement({ schema, mode, idleTimeoutMs }: TransactionSettings): string {
  return `begin ${mode}; set local search_path to ${searchPath(schema)}; set local timezone to 'UTC'; set local datestyle to 'ISO';
    set local extra_float_digits to 1; set local idle_in_transaction_session_timeout to ${idleTimeoutMs}${idleTimeoutMs === 0 ? '; set local statement_timeout to 0' : ''}`;
}
