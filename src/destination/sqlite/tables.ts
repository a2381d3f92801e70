import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as assets from '../../../schema/assets.ts';
import * as tests from '../../../schema/data-tests.ts';
import * as health from '../../../schema/health.ts';

/** The tables that streams are kept in, by their names. */
const TABLES: ReadonlyMap<string, SQLiteTable> = new Map(
  [assets, health, tests]
    .flatMap((family) => Object.values(family))
    .filter((each) => is(each, SQLiteTable))
    .map((table) => [getTableName(table), table]),
);

/** The table that a stream names. @throws Error for one that is not in the schema */
export function tableNamed(name: string): SQLiteTable {
  const table = TABLES.get(name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}
