import { getTableName, is } from 'drizzle-orm';
import { getTableConfig, type Index, SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { kindOf } from '../../../schema/column-types.ts';
import { primaryKeyOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES } from '../../../schema/tables.ts';

/** The table with this name. @throws Error for one that is not in the schema */
export function tableNamed(name: string): SQLiteTable {
  const table = MIRRORED_TABLES.find((each) => getTableName(each) === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}

/** A table of the schema or its name; undefined if the stream has no such table. */
export type TableOrName = SQLiteTable | string | undefined;

/** A drizzle table's column names, as statements need them. */
export type TableSql = ReturnType<typeof shapeOf>;

const shapes = new Map<TableOrName, TableSql>();

/** @throws Error if the stream has no such table */
export function tableSqlOf(table: TableOrName): TableSql {
  const known = shapes.get(table);
  if (known !== undefined) return known;
  if (table === undefined) throw new Error('the stream has no such table');
  const shape = shapeOf(typeof table === 'string' ? tableNamed(table) : table);
  shapes.set(table, shape);
  return shape;
}

function shapeOf(table: SQLiteTable) {
  const config = getTableConfig(table);
  const columns: readonly string[] = config.columns.map((column) => column.name);
  const key: readonly string[] = primaryKeyOf(table);
  /** The columns of a `Row`: all but those that the destination adds. */
  const given = columns.filter((name) => name !== 'env_id' && name !== 'mirrored_at');
  /** The columns of `given` outside the key: a row has changed if one of them has (R21). */
  const content = given.filter((name) => !key.includes(name));
  const kinds = new Map(config.columns.map((column) => [column.name, kindOf(column)]));
  const columnsOf = (index: Index) => index.config.columns.filter((column) => is(column, SQLiteColumn));
  /** The columns of its key and of each index. */
  const indexes = [key, ...config.indexes.map((index) => columnsOf(index).map(({ name }) => name))];
  return { name: config.name, columns, key, given, content, kinds, indexes };
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
