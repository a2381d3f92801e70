import type Database from 'better-sqlite3';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { assetEdges, columnEdges, type SampleEstate } from './estate.ts';

/** Inserts rows. Fields that a row leaves out get the column's default or NULL. */
export type InsertRows = <T extends SQLiteTable>(table: T, rows: readonly T['$inferInsert'][]) => void;

/** An environment that is being changed. Rows that change now were synced now. */
export interface SampleScene extends SampleEstate {
  readonly connection: Database.Database;
  readonly insert: InsertRows;
  readonly now: string;
}

export function insertInto(connection: Database.Database): InsertRows {
  return (table, rows) => {
    const columns = Object.entries(getTableColumns(table));
    const names = columns.map(([name]) => `"${name}"`);
    const sql = `insert into "${getTableName(table)}" (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;
    const statement = connection.prepare(sql);
    for (const row of rows as readonly Record<string, unknown>[])
      statement.run(columns.map(([name, column]) => row[name] ?? column.default ?? null));
  };
}

export function insertEstate(rows: InsertRows, estate: SampleEstate): void {
  const assetRows = estate.nodes.map(({ asset }) => asset);
  const columnRows = estate.nodes.flatMap((node) => node.columns.map(({ row }) => row));
  rows(assets, assetRows);
  rows(columns, columnRows);
  rows(assetLineage, assetEdges(estate));
  rows(columnLineage, columnEdges(estate));
}
