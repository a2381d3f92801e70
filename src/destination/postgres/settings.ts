export function quoteIdentifier(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`;
}

export interface TransactionSettings {
  readonly schema: string;
  /** Such as `isolation level read committed`. */
  readonly mode: string;
  /** How long it may be idle before the server ends it; 0 for no limit, and then no statement times out either. */
  readonly idleTimeoutMs: number;
}

/**
 * Begins a transaction and sets where its tables are and how the server writes values. A pooler may use another session
 * for each transaction, so nothing is set beyond it; temporary tables come last in the search path, because the session
 * may hold another program's. The statements have no values, so one message holds them all.
 */
export function beginStatement({ schema, mode, idleTimeoutMs }: TransactionSettings): string {
  return `begin ${mode}; set local search_path to ${quoteIdentifier(schema)}, pg_temp; set local timezone to 'UTC'; set local datestyle to 'ISO';
    set local extra_float_digits to 1; set local idle_in_transaction_session_timeout to ${idleTimeoutMs}${idleTimeoutMs === 0 ? '; set local statement_timeout to 0; set local bytea_output to hex' : ''}`;
}
