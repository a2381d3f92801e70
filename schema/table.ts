import type { BuildColumns } from 'drizzle-orm';
import {
  getTableConfig,
  type SQLiteTable,
  type SQLiteTableExtraConfigValue,
  type SQLiteView,
  sqliteTable,
} from 'drizzle-orm/sqlite-core';
import { BUILDERS, type ColumnKind, type DescribedBuilder } from './column-types.ts';

export interface DescribedColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly description: string;
}

/** What a row of a table or view is, and what its columns mean. */
export interface DescribedTable {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly description: string;
  /** The columns that identify a row; none for a view that may repeat a row. */
  readonly key: readonly string[];
  readonly columns: readonly DescribedColumn[];
}

export type TableOrView = SQLiteTable | SQLiteView;

/** In the order of their definitions. */
const descriptions = new Map<TableOrView, DescribedTable>();

/** A table of SQLite. `inPostgres` derives the table of PostgreSQL from it. */
export function table<Name extends string, Columns extends Record<string, DescribedBuilder>>(
  name: Name,
  description: string,
  columns: Columns,
  constraints?: (self: BuildColumns<Name, Columns, 'sqlite'>) => SQLiteTableExtraConfigValue[],
) {
  const made = sqliteTable(name, columns, constraints);
  setDescription(made, { name, kind: 'table', description, key: primaryKeyOf(made) }, columns);
  return made;
}

export function setDescription(
  made: TableOrView,
  about: Omit<DescribedTable, 'columns'>,
  columns: Readonly<Record<string, DescribedBuilder>>,
): void {
  const named = Object.entries(columns).map(([name, { kind, description }]) => ({ name, kind, description }));
  descriptions.set(made, { ...about, columns: named });
}

/** @throws Error for one that neither `table` nor `view` has made */
export function descriptionOf(made: TableOrView): DescribedTable {
  const found = descriptions.get(made);
  if (found === undefined) throw new Error('a table or view without a description');
  return found;
}

/** The columns that a view shows as a table or another view has them. */
export function sameColumns<Relation extends TableOrView, Name extends keyof Relation & string>(
  relation: Relation,
  ...names: Name[]
): Record<Name, DescribedBuilder> {
  const { columns } = descriptionOf(relation);
  const same = names.map((name) => columns.find((column) => column.name === name) as DescribedColumn);
  const built = same.map(({ name, kind, description }) => [name, BUILDERS[kind](description)]);
  return Object.fromEntries(built) as Record<Name, DescribedBuilder>;
}

/** The tables and views among the exports of a module, in the order of their definitions. */
export function definedIn(module: object): TableOrView[] {
  const exported = new Set<unknown>(Object.values(module));
  return [...descriptions.keys()].filter((each) => exported.has(each));
}

export function primaryKeyOf(made: SQLiteTable): string[] {
  const { columns, primaryKeys } = getTableConfig(made);
  return (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
}
