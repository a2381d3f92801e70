import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type ColumnKind, kindOf } from '../../../schema/column-types.ts';
import { primaryKeyOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';

/** A table that every mirror has, whatever it is kept in, as a copy needs it. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
  readonly key: readonly string[];
  /** The column that the database numbers; null for a table without one. */
  readonly numbered: string | null;
  /** Whether the order of its rows counts: of two staged rows with one key, the later one holds (R16). */
  readonly isOrdered: boolean;
}

/** A row as a list of its values, in the order of the columns, as SQLite keeps them. */
export type CopiedRow = readonly (string | number | bigint | null)[];

/** The rows of a mirror as of one instant. */
export interface CopySource {
  /** The rows in portions of a bounded size. */
  rows(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  close(): Promise<void>;
}

/** A mirror that is being made. Nobody sees any of it before it is finished. */
export interface CopyTarget {
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  finish(): Promise<void>;
  /** Leaves nothing of what was written. */
  abandon(): Promise<void>;
}

/** All tables that a mirror consists of, the state of its syncs included. */
export const COPIED_TABLES: readonly CopiedTable[] = [...STATE_TABLES, ...MIRRORED_TABLES].map(copiedTable);

function copiedTable(table: SQLiteTable): CopiedTable {
  const { name, columns } = getTableConfig(table);
  const numbered = columns.find((column) => column.primary && kindOf(column) === 'integer');
  const key = primaryKeyOf(table);
  return {
    name,
    columns: columns.map((column) => ({ name: column.name, kind: kindOf(column) })),
    key,
    numbered: numbered?.name ?? null,
    isOrdered: key.length === 0,
  };
}
