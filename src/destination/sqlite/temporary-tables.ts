import type { Database } from 'better-sqlite3';

/**
 * Makes the tables of a connection alone that a round's keys are compared in. `seen_keys` holds the keys seen, in order, filled from
 * the pages in the file when a statement asks (`loadSeenKeys`); `key_2` is the second half of an edge's key, else empty.
 * `missing_keys` holds the keys of rows that no read of the round has seen, found when a statement asks (`findMissing`).
 */
export function createSeenTables(connection: Database): void {
  // Little: the keys are written, and looked for, in order; and memory has a bound (R27).
  connection.pragma('temp.cache_size = -2000');
  connection.exec(`create temp table seen_keys (env_id text, stream text, key_1 text, key_2 text, read_number integer,
    primary key (env_id, stream, key_1, key_2, read_number)) without rowid`);
  connection.exec(`create temp table seen_through (env_id text, stream text, page integer,
    primary key (env_id, stream)) without rowid`);
  connection.exec(`create temp table missing_keys (env_id text, stream text, key_1 text, key_2 text,
    primary key (env_id, stream, key_1, key_2)) without rowid`);
  connection.exec(
    'create temp table missing_found (env_id text, stream text, primary key (env_id, stream)) without rowid',
  );
}

/** What a run needs besides: the keys that are staged, filled from the staged tables when a statement first asks. */
export function createRunTables(connection: Database): void {
  createSeenTables(connection);
  connection.exec(`create temp table staged_keys (env_id text, stream text, key_1 text, key_2 text,
    primary key (env_id, stream, key_1, key_2)) without rowid`);
  connection.exec(
    'create temp table staged_loaded (env_id text, stream text, primary key (env_id, stream)) without rowid',
  );
}
