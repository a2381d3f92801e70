import type { SQL } from 'drizzle-orm';
import { type SQLiteView, sqliteView } from 'drizzle-orm/sqlite-core';
import { type DescribedBuilder, text } from './column-types.ts';
import { envId } from './common-columns.ts';
import { setDescription } from './table.ts';
import type { ViewDialect } from './view-dialect.ts';
import { POSTGRES_VIEWS } from './view-postgres.ts';
import { SQLITE_VIEWS } from './view-sqlite.ts';

type SelectIn = (dialect: ViewDialect) => SQL;

/** The first columns of every view. */
const environment = () => ({ env_id: envId(), env_name: text('the name of the environment') });

type ViewColumns<Columns> = ReturnType<typeof environment> & Columns;

interface ViewDefinition<Columns> {
  readonly description: string;
  /** None if the view may repeat a row. */
  readonly key?: readonly (keyof ViewColumns<Columns> & string)[];
  /** Its own columns, which follow those of every view. */
  readonly columns: Columns;
  readonly select: SelectIn;
}

const selects = new WeakMap<SQLiteView, SelectIn>();

/** A view of SQLite, whose `select` makes the same view in PostgreSQL. */
export function view<Name extends string, Columns extends Record<string, DescribedBuilder>>(
  name: Name,
  { description, key = [], columns: others, select }: ViewDefinition<Columns>,
) {
  const columns: ViewColumns<Columns> = { ...environment(), ...others };
  const made = sqliteView(name, columns).as(select(SQLITE_VIEWS));
  setDescription(made, { name, kind: 'view', description, key }, columns);
  selects.set(made, select);
  return made;
}

/** The SELECT of a view for PostgreSQL. */
export function selectInPostgres(made: SQLiteView): SQL {
  return (selects.get(made) as SelectIn)(POSTGRES_VIEWS);
}
