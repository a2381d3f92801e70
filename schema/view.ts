import type { SQL } from 'drizzle-orm';
import { type SQLiteView, sqliteView } from 'drizzle-orm/sqlite-core';
import type { DescribedBuilder } from './column-types.ts';
import { setDescription } from './table.ts';
import type { ViewDialect } from './view-dialect.ts';
import { POSTGRES_VIEWS } from './view-postgres.ts';
import { SQLITE_VIEWS } from './view-sqlite.ts';

type SelectIn = (dialect: ViewDialect) => SQL;

interface ViewDefinition<Columns> {
  readonly description: string;
  /** None if the view may repeat a row. */
  readonly key?: readonly (keyof Columns & string)[];
  readonly columns: Columns;
  readonly select: SelectIn;
}

const selects = new WeakMap<SQLiteView, SelectIn>();

/** A view of SQLite, whose `select` makes the same view in PostgreSQL. */
export function view<Name extends string, Columns extends Record<string, DescribedBuilder>>(
  name: Name,
  { description, key = [], columns, select }: ViewDefinition<Columns>,
) {
  const made = sqliteView(name, columns).as(select(SQLITE_VIEWS));
  setDescription(made, { name, kind: 'view', description, key }, columns);
  selects.set(made, select);
  return made;
}

/** The SELECT of a view for PostgreSQL. @throws Error for a view that was not made here */
export function selectInPostgres(made: SQLiteView): SQL {
  const select = selects.get(made);
  if (select === undefined) throw new Error('a view without a SELECT');
  return select(POSTGRES_VIEWS);
}
