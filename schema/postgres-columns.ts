import { type SQL, sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  customType,
  date,
  doublePrecision,
  index,
  json,
  type PgColumn,
  type PgColumnBuilder,
  type PgColumnBuilderBase,
  type PgTable,
  pgTable,
  primaryKey,
  timestamp,
} from 'drizzle-orm/pg-core';
import {
  getTableConfig,
  type Index,
  type SQLiteColumn,
  SQLiteSyncDialect,
  type SQLiteTable,
} from 'drizzle-orm/sqlite-core';
import { type ColumnKind, kindOf } from './column-types.ts';
import { primaryKeyOf } from './table.ts';

/** Text is ordered by code point, as in SQLite. */
export const text = customType<{ data: string }>({ dataType: () => 'text collate "C"' });

export const count = (name: string) => bigint(name, { mode: 'number' });

const TYPES: Readonly<Record<ColumnKind, (name: string) => PgColumnBuilderBase>> = {
  text: (name) => text(name),
  integer: count,
  real: (name) => doublePrecision(name),
  time: (name) => timestamp(name, { withTimezone: true, mode: 'string' }),
  day: (name) => date(name, { mode: 'string' }),
  flag: (name) => boolean(name),
  // Not jsonb, which loses the order of members and the spelling of numbers.
  json: (name) => json(name),
};

/** What a table has in addition to, or instead of, SQLite's columns. */
interface PostgresAdditions {
  readonly columns?: Readonly<Record<string, PgColumnBuilderBase>>;
  /** Replaces SQLite's key; if empty, the table has none. */
  readonly key?: readonly string[];
  readonly indexes?: (columns: Readonly<Record<string, PgColumn>>) => ReturnType<ReturnType<typeof index>['on']>[];
}

/**
 * The PostgreSQL form of an SQLite table: the same columns in the same order, the same key and the same indexes. It
 * names no schema, because each mirror has its own.
 */
export function inPostgres(
  table: SQLiteTable,
  { columns = {}, key = primaryKeyOf(table), indexes }: PostgresAdditions = {},
): PgTable {
  const config = getTableConfig(table);
  const built = config.columns.map((column) => [column.name, columnOf(column)] as const);
  return keyedTable(config.name, { ...Object.fromEntries(built), ...columns }, key, (named) => [
    ...config.indexes.map((each) => indexOf(each, config.columns, named)),
    ...(indexes?.(named) ?? []),
  ]);
}

/** A table whose key has a name of its own: the names that drizzle generates are too long for PostgreSQL. */
export function keyedTable(
  name: string,
  columns: Readonly<Record<string, PgColumnBuilderBase>>,
  key: readonly string[],
  indexes: NonNullable<PostgresAdditions['indexes']> = () => [],
): PgTable {
  return pgTable(name, { ...columns }, (extra) => {
    const named = extra as unknown as Record<string, PgColumn>;
    const [first, ...others] = key.map((column) => named[column] as PgColumn);
    const primary = first === undefined ? [] : [primaryKey({ name: `${name}_pkey`, columns: [first, ...others] })];
    return [...primary, ...indexes(named)] as never;
  });
}

function columnOf(column: SQLiteColumn): PgColumnBuilderBase {
  const kind = kindOf(column);
  // SQLite numbers the rows of a table with such a key itself.
  if (column.primary && kind === 'integer') return count(column.name).generatedByDefaultAsIdentity();
  const builder = TYPES[kind](column.name) as unknown as PgColumnBuilder;
  if (column.notNull) builder.notNull();
  if (column.default !== undefined) builder.default(kind === 'flag' ? column.default === 1 : column.default);
  return builder as unknown as PgColumnBuilderBase;
}

/** An index over the same rows and columns. */
function indexOf({ config }: Index, columns: readonly SQLiteColumn[], named: Readonly<Record<string, PgColumn>>) {
  const [first, ...others] = config.columns.map((column) => named[(column as SQLiteColumn).name] as PgColumn);
  const built = index(config.name).on(first as PgColumn, ...others);
  return config.where === undefined ? built : built.where(conditionOf(config.where, columns));
}

/** PostgreSQL does not compare booleans with numbers. */
function conditionOf(where: SQL, columns: readonly SQLiteColumn[]): SQL {
  const { sql: condition } = new SQLiteSyncDialect().sqlToQuery(where);
  const flags = columns.filter((column) => kindOf(column) === 'flag').map(({ name }) => name);
  return sql.raw(flags.reduce((made, name) => made.replaceAll(`${name} = 1`, name), condition));
}
