import type Database from 'better-sqlite3';
import { getTableName } from 'drizzle-orm';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { type Item, itemOf, type Row } from './item.ts';
import type { Listing } from './listings.ts';
import type { Statement } from './statement.ts';

const MOST_STATEMENTS = 300;

/** Reads of the mirror; each statement is prepared once. */
export interface Store {
  rows(statement: Statement): Row[];
}

export function openStore({ connection }: MirrorFile): Store {
  const prepared = new Map<string, Database.Statement>();
  const prepare = (sql: string) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    if (prepared.size >= MOST_STATEMENTS) prepared.clear();
    const statement = connection.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
  return { rows: ({ sql, values }) => prepare(sql).all(values) as Row[] };
}

/** Puts the rows of the entry's parts (the dimensions of a score) into the items of a page. */
export function addParts(store: Store, { entry, nulls }: Listing, env: string, items: readonly Item[]): void {
  const [key = ''] = entry.key;
  for (const part of entry.parts ?? []) {
    const names = [key, ...Object.keys(part.fields), 'extra'].map((name) => `"${name}"`).join(', ');
    const rows = store.rows({
      sql: `select ${names} from ${getTableName(part.table)}
        where env_id = @env and "${key}" in (select value from json_each(@keys)) order by ${part.key.join(', ')}`,
      values: { env, keys: JSON.stringify(items.map((item) => item[key])) },
    });
    const byKey = Map.groupBy(rows, (row) => row[key]);
    for (const item of items) {
      item[part.each] = (byKey.get(item[key] as string) ?? []).map((row) => itemOf(part.fields, row, nulls));
    }
  }
}
