import type Database from 'better-sqlite3';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { SampleEstate } from './estate.ts';

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

export function insertEstate(insert: InsertRows, { env, nowMs, nodes }: SampleEstate): void {
  const own = { env_id: env, mirrored_at: instantOfMs(nowMs) };
  const inNodes = nodes.flatMap((node) => node.columns);
  const assetEdges = nodes.flatMap(({ asset, from }) =>
    from.map((source) => ({ ...own, upstream_asset_id: source.asset.id, downstream_asset_id: asset.id })),
  );
  const columnEdges = inNodes.flatMap(({ row, from }) =>
    from.map((source) => ({ ...own, upstream_column_id: source.row.id, downstream_column_id: row.id })),
  );
  const assetRows = nodes.map(({ asset }) => asset);
  const columnRows = inNodes.map(({ row }) => row);
  insert(assets, assetRows);
  insert(columns, columnRows);
  insert(assetLineage, assetEdges);
  insert(columnLineage, columnEdges);
}
