import type { Database } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { list, quote } from './shape.ts';

/**
 * Drops the secondary indexes of tables that are empty: built once at the end of a first sync they cost half of what it
 * costs to keep them up row by row.
 */
export function dropSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    if (connection.prepare(`select 1 from ${quote(name)} limit 1`).get() !== undefined) continue;
    for (const { config } of indexes) connection.exec(`drop index if exists ${quote(config.name)}`);
  }
}

/** Builds the secondary indexes that are missing, after a first sync or one that was killed. */
export function buildSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    for (const { config } of indexes) {
      const columns = config.columns.map((column) => (column as { name: string }).name);
      connection.exec(`create index if not exists ${quote(config.name)} on ${quote(name)} (${list(columns)})`);
    }
  }
}
