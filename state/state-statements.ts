import { getTableColumns, getTableName, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { QueryBuilder, type SQLiteColumn, type SQLiteTable, type SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { Row } from '../src/core/stream.ts';

/**
 * The statements of an operation on the state, one after the other, until its result is known. Each `yield` hands a
 * statement to the driver and receives its answer. The statements are the same for every database, which renders them
 * with its own dialect of drizzle.
 */
export type StateStatements<Result> = Generator<StateStatement, Result, { readonly rows: readonly Row[] }>;

/**
 * A statement that runs for every page is a constant text, because rendering one takes longer than SQLite takes to run
 * it.
 */
export type StateStatement = (SQL | ConstantStatement) & {
  /** Set if the answer is not needed: a driver may continue before it has it. */
  readonly isUnanswered?: boolean;
};

interface ConstantStatement {
  readonly sql: string;
  /** By their names in `sql`, `@name`; unused values are allowed. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Runs statements on one state of the database (`read`), or in one transaction (`write`). Each try creates them again.
 */
export interface StateRunner {
  read<Result>(statementsOf: () => StateStatements<Result>): Promise<Result>;
  /** `envIds` are the environments that are written about: a writer that has lost one of them writes nothing (R26). */
  write<Result>(statementsOf: () => StateStatements<Result>, envIds?: readonly string[]): Promise<Result>;
}

/** Builds a `select`. Each selected field must have its column's name, because the answer uses the columns' names. */
export const queryBuilder = new QueryBuilder();

interface TypedSelect<Found> extends SQLWrapper {
  readonly _: { readonly result: readonly Found[] };
}

export function* all<Found>(select: TypedSelect<Found>): StateStatements<readonly Found[]> {
  const { rows } = yield select.getSQL();
  return rows as readonly Found[];
}

/** The first row of a `select`; undefined if there is none. */
export function* first<Found>(select: TypedSelect<Found>): StateStatements<Found | undefined> {
  const [found] = yield* all(select);
  return found;
}

type GivenColumns<Table extends SQLiteTable> = Partial<Table['$inferInsert']>;

/**
 * Names only the given columns: drizzle's builder writes NULL into the others, which not every database accepts for an
 * id. `ending` is what follows, such as `on conflict do nothing`.
 */
export function insertStatement<Table extends SQLiteTable>(
  table: Table,
  row: GivenColumns<Table>,
  ending = '',
): ConstantStatement {
  const values = givenColumns(table, row);
  const names = Object.keys(values);
  const into = `"${getTableName(table)}" ("${names.join('", "')}")`;
  return { sql: `insert into ${into} values (@${names.join(', @')}) ${ending}`, values };
}

/** Inserts a row, or updates the given columns of the row with its key, without an answer. */
export function upsertInto<Table extends SQLiteTable>(
  table: Table,
  row: GivenColumns<Table>,
  key: readonly SQLiteColumn[],
) {
  const keys = key.map(({ name }) => name);
  const others = Object.keys(givenColumns(table, row)).filter((name) => !keys.includes(name));
  const set = others.map((name) => `"${name}" = excluded."${name}"`).join(', ');
  const ending = `on conflict ("${keys.join('", "')}") do update set ${set}`;
  return { ...insertStatement(table, row, ending), isUnanswered: true };
}

/** Sets the given columns, without an answer; in all rows without a condition. */
export function update<Table extends SQLiteTable>(table: Table, values: SQLiteUpdateSetSource<Table>, where?: SQL) {
  const given = Object.entries(givenColumns(table, values));
  const set = given.map(([name, value]) => sql`${sql.identifier(name)} = ${value}`);
  const statement = sql`update ${table} set ${listed(set)}${where === undefined ? sql`` : sql` where ${where}`}`;
  return Object.assign(statement, { isUnanswered: true });
}

/** A table of the given texts, for `with`. There must be at least one. */
export function textTable(name: string, texts: readonly string[]): SQL {
  return sql`${sql.identifier(name)} (value) as (values ${listed(texts.map((text) => sql`(${text})`))})`;
}

/** Without properties that are no column, or not given. */
function givenColumns(table: SQLiteTable, row: object): Readonly<Record<string, unknown>> {
  const columns = getTableColumns(table);
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => name in columns && value !== undefined));
}

function listed(parts: readonly SQL[]): SQL {
  return sql.join([...parts], sql`, `);
}
