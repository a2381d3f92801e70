import { getTableName, is } from 'drizzle-orm';
import { getTableConfig, type Index, SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type ColumnKind, kindOf } from '../../../schema/column-types.ts';
import { primaryKeyOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES } from '../../../schema/tables.ts';

/** The tables that hold the rows of streams, by name. */
const TABLES: ReadonlyMap<string, SQLiteTable> = new Map(MIRRORED_TABLES.map((table) => [getTableName(table), table]));

/** The table with this name. @throws Error for one that is not in the schema */
export function tableNamed(name: string): SQLiteTable {
  const table = TABLES.get(name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}

/** A drizzle table's column names, as statements need them. */
export interface TableSql {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** The columns of a `Row`: all but those that the destination adds. */
  readonly given: readonly string[];
  /** The columns of `given` outside the key: a row has changed if one of them has (R21). */
  readonly content: readonly string[];
  /** The columns of `content` that hold JSON. */
  readonly json: ReadonlySet<string>;
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  /** The columns of its key and of each index. */
  readonly indexes: readonly (readonly string[])[];
}

/** A table of the schema or its name; undefined if the stream has no such table. */
export type TableOrName = SQLiteTable | string | undefined;

const shapes = new Map<TableOrName, TableSql>();

/** @throws Error if the stream has no such table */
export function tableSqlOf(table: TableOrName): TableSql {
  const known = shapes.get(table);
  if (known !== undefined) return known;
  if (table === undefined) throw new Error('the stream has no such table');
  const named = typeof table === 'string' ? tableNamed(table) : table;
  const config = getTableConfig(named);
  const columns = config.columns.map((column) => column.name);
  const key = primaryKeyOf(named);
  const given = columns.filter((name) => name !== 'env_id' && name !== 'mirrored_at');
  const content = given.filter((name) => !key.includes(name));
  const kinds = new Map(config.columns.map((column) => [column.name, kindOf(column)]));
  const json = new Set(content.filter((name) => kinds.get(name) === 'json'));
  const columnsOf = (index: Index) => index.config.columns.filter((column) => is(column, SQLiteColumn));
  const indexes = [key, ...config.indexes.map((index) => columnsOf(index).map(({ name }) => name))];
  const shape = { name: config.name, columns, key, given, content, json, kinds, indexes };
  shapes.set(table, shape);
  return shape;
}

export function nameOf(table: TableOrName): string {
  return quote(tableSqlOf(table).name);
}

export function quote(name: string): string {
  return `"${name}"`;
}

export function list(names: readonly string[], prefix = ''): string {
  return names.map((name) => `${prefix}${quote(name)}`).join(', ');
}

/** `a.x = b.x and a.y = b.y` */
export function matches(a: string, b: string, names: readonly string[]): string {
  return names.map((name) => `${a}.${quote(name)} = ${b}.${quote(name)}`).join(' and ');
}
