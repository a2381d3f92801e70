import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type ColumnKind, kindOf } from '../../../schema/column-types.ts';
import { primaryKeyOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';

/** A table as a copy needs it; every kind of mirror has it. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
  readonly key: readonly string[];
  /** The column that the database numbers; null if there is none. */
  readonly numbered: string | null;
  /** Whether the order of its rows matters: of two staged rows with one key, the later one counts (R16). */
  readonly isOrdered: boolean;
}

/** A row's values in column order, as SQLite stores them. */
export type CopiedRow = readonly (string | number | bigint | null)[];

/** The rows of a mirror as of one instant. */
export interface CopySource {
  /** The rows in portions of bounded size. */
  rows(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  close(): Promise<void>;
}

/** A mirror in the making; invisible to others until it is finished. */
export interface CopyTarget {
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  finish(): Promise<void>;
  /** Removes everything that was written. */
  abandon(): Promise<void>;
}

/** All tables of a mirror, including the state of its syncs. */
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
