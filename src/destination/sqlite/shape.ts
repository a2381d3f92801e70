import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';

/** A drizzle table as SQL needs it: names, quoted where they stand in statements. */
export interface Shape {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** Neither key nor what the mirror itself adds: a row has changed when one of these has (R21). */
  readonly content: readonly string[];
}

const shapes = new WeakMap<SQLiteTable, Shape>();

export function shapeOf(table: SQLiteTable): Shape {
  const known = shapes.get(table);
  if (known !== undefined) return known;
  const config = getTableConfig(table);
  const columns = config.columns.map((column) => column.name);
  const key =
    config.primaryKeys[0]?.columns.map((column) => column.name) ??
    config.columns.filter((c) => c.primary).map((c) => c.name);
  const content = columns.filter((name) => !key.includes(name) && name !== 'mirrored_at');
  const shape = { name: config.name, columns, key, content };
  shapes.set(table, shape);
  return shape;
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

/** Whether a column differs, NULLs compared as values. */
export function differs(a: string, b: string, names: readonly string[]): string {
  return names.map((name) => `${a}.${quote(name)} is not ${b}.${quote(name)}`).join(' or ');
}
