import type Database from 'better-sqlite3';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { assetEdges, columnEdges, type SampleEstate } from './estate.ts';

const ROWS_A_STATEMENT = 40;

/** Inserts rows in batches. Fields that a row leaves out get the column's default or NULL. */
export type InsertRows = <T extends SQLiteTable>(table: T, rows: readonly T['$inferInsert'][]) => void;

/** An environment that is being changed. Rows that change now were synced now. */
export interface SampleScene {
  readonly connection: Database.Database;
  readonly insert: InsertRows;
  readonly estate: SampleEstate;
  readonly env: string;
  readonly now: string;
}

export function insertInto(connection: Database.Database): InsertRows {
  return (table, rows) => {
    const columns = getTableColumns(table);
    const names = Object.keys(columns);
    const defaults = names.map((name) => columns[name]?.default ?? null);
    const valuesOf = (rows: readonly Record<string, unknown>[]): unknown[] =>
      rows.flatMap((row) => names.map((name, i) => row[name] ?? defaults[i]));
    const prepare = (count: number) => connection.prepare(insertSql(getTableName(table), names, count));
    const whole = rows.length - (rows.length % ROWS_A_STATEMENT);
    const batch = whole > 0 ? prepare(ROWS_A_STATEMENT) : null;
    for (let i = 0; i < whole; i += ROWS_A_STATEMENT) batch?.run(valuesOf(rows.slice(i, i + ROWS_A_STATEMENT)));
    if (whole < rows.length) prepare(rows.length - whole).run(valuesOf(rows.slice(whole)));
  };
}

export function insertEstate(rows: InsertRows, estate: SampleEstate): void {
  rows(
    assets,
    estate.nodes.map(({ asset }) => asset),
  );
  rows(
    columns,
    estate.nodes.flatMap((node) => node.columns.map(({ row }) => row)),
  );
  rows(assetLineage, assetEdges(estate));
  rows(columnLineage, columnEdges(estate));
}

function insertSql(table: string, names: readonly string[], count: number): string {
  const row = `(${names.map(() => '?').join(', ')})`;
  return `insert into "${table}" (${names.map((name) => `"${name}"`).join(', ')}) values ${Array(count).fill(row).join(', ')}`;
}
