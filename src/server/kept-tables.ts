/**
 * What each limited reader sees, kept in tables that this connection alone has: the assets of an environment by their ids, and as
 * of which time of the mirror; uses are numbered.
 */
export const KEPT_TABLES = `create temp table if not exists visible_assets (reader integer, env_id text, id text,
    primary key (reader, env_id, id)) without rowid;
  create temp table if not exists visible_kept (reader integer, env_id text, at text, last_use integer,
    primary key (reader, env_id)) without rowid`;
