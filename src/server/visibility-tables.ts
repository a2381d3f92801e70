/**
 * Temporary tables that cache which assets each restricted reader sees in an environment, and the mirror's time when
 * they were read. `last_use` is a counter, for evicting the least recently used entry.
 */
export const CREATE_VISIBILITY_TABLES = `create temp table if not exists visible_assets (reader integer, env_id text, id text,
    primary key (reader, env_id, id)) without rowid;
  create temp table if not exists visible_kept (reader integer, env_id text, at text, last_use integer,
    primary key (reader, env_id)) without rowid`;
