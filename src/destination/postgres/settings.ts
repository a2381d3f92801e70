/**
 * Where names are looked for: in the schema of a mirror. Temporary tables come last, or they would come first: behind a pooler, the
 * session may hold those of another program.
 */
function searchPath(schema: string): string {
  return `${quoted(schema)}, pg_temp`;
}

export function quoted(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`;
}

/**
 * A statement that sets what holds in a transaction: where its tables are, how the server writes values, and after which time without a
 * statement it is ended; 0 for never. A pooler may give each transaction another session, so nothing is set for longer.
 */
export function settingsIn(
  schema: string,
  idleTimeoutMs: number,
): { readonly text: string; readonly values: readonly string[] } {
  return { text: SETTINGS, values: [searchPath(schema), String(idleTimeoutMs)] };
}

const SETTINGS = `select set_config('search_path', $1, true), set_config('timezone', 'UTC', true),
  set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true),
  set_config('idle_in_transaction_session_timeout', $2, true)`;
