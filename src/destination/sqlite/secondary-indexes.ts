import type { Database } from 'better-sqlite3';
import { getTableConfig, type Index, SQLiteSyncDialect, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { list, quote } from './table-sql.ts';

/**
 * Drops the secondary indexes of tables that are empty, while a mirror is being made: built once at the end of a first sync
 * they cost half of what it costs to keep them up row by row. A table that is empty later may stay so.
 */
export function dropSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  if (has(connection, 'sync_checkpoints where scan_ended_cycle is not null')) return;
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    if (has(connection, quote(name))) continue;
    for (const { config } of indexes) connection.exec(`drop index if exists ${quote(config.name)}`);
  }
}

function has(connection: Database, rows: string): boolean {
  return connection.prepare(`select 1 from ${rows} limit 1`).get() !== undefined;
}

/** Builds the secondary indexes that are missing, after a first sync or one that was killed. */
export function buildSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    for (const { config } of indexes) {
      const columns = config.columns.map((column) => (column as { name: string }).name);
      const on = `${quote(name)} (${list(columns)})${only(config)}`;
      connection.exec(`create index if not exists ${quote(config.name)} on ${on}`);
    }
  }
}

/** Which rows a partial index holds. */
function only({ where }: Index['config']): string {
  return where === undefined ? '' : ` where ${new SQLiteSyncDialect().sqlToQuery(where).sql}`;
}
