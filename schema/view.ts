import type { SQL } from 'drizzle-orm';
import { type SQLiteColumnBuilderBase, type SQLiteView, sqliteView } from 'drizzle-orm/sqlite-core';
import type { ViewDialect } from './view-dialect.ts';
import { POSTGRES_VIEWS } from './view-postgres.ts';
import { SQLITE_VIEWS } from './view-sqlite.ts';

type ViewDescription = (dialect: ViewDialect) => SQL;

const descriptions = new WeakMap<SQLiteView, ViewDescription>();

/** A view of SQLite, whose description makes the same view in PostgreSQL. */
export function view<Columns extends Record<string, SQLiteColumnBuilderBase>>(
  name: string,
  columns: Columns,
  describe: ViewDescription,
) {
  const made = sqliteView(name, columns).as(describe(SQLITE_VIEWS));
  descriptions.set(made, describe);
  return made;
}

/** The SELECT of a view in PostgreSQL. @throws Error for a view that was not made here */
export function selectInPostgres(made: SQLiteView): SQL {
  const describe = descriptions.get(made);
  if (describe === undefined) throw new Error('a view without a description');
  return describe(POSTGRES_VIEWS);
}
