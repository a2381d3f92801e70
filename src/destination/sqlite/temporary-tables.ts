import type { Database } from 'better-sqlite3';

/**
 * Creates the temporary tables that compare the keys of a round. `seen_keys` holds the keys seen, in order;
 * `loadSeenKeys` fills it from the recorded and stored pages. `key_2` is the second part of an edge's key, else empty.
 * `missing_keys` holds the keys of rows that no read of the round has seen; `findMissing` fills it. `staged_keys` holds
 * those of staged rows; `stage` loads them when it first needs them.
 */
export function createWorkTables(connection: Database): void {
  // A small cache is enough because keys are written and looked up in order, and memory is limited (R27).
  connection.pragma('temp.cache_size = -2000');
  connection.exec(`create temp table seen_keys (env_id text, stream text, key_1 text, key_2 text, read_number integer,
    primary key (env_id, stream, key_1, key_2, read_number)) without rowid`);
  connection.exec(`create temp table seen_through (env_id text, stream text, page integer,
    primary key (env_id, stream)) without rowid`);
  for (const name of ['missing_keys', 'staged_keys'])
    connection.exec(`create temp table ${name} (env_id text, stream text, key_1 text, key_2 text,
      primary key (env_id, stream, key_1, key_2)) without rowid`);
  for (const name of ['missing_found', 'staged_loaded'])
    connection.exec(`create temp table ${name} (env_id text, stream text, primary key (env_id, stream)) without rowid`);
}
