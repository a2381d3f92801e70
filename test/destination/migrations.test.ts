import { readdirSync, readFileSync } from 'node:fs';
import { getTableName, getViewName, is } from 'drizzle-orm';
import { SQLiteTable, SQLiteView } from 'drizzle-orm/sqlite-core';
import { expect, test } from 'vitest';
import { openForWriting } from '../../src/destination/sqlite/open.ts';

const SCHEMA = new URL('../../schema/', import.meta.url);

/** The tables of SQLite and drizzle. */
const OTHERS = ['sqlite_sequence', '__drizzle_migrations'];

/** The names of the tables and views that a file of the schema exports. */
async function namesIn(file: string): Promise<string[]> {
  const exported = Object.values((await import(new URL(file, SCHEMA).href)) as Record<string, unknown>);
  return exported.flatMap((each) => {
    if (is(each, SQLiteTable)) return getTableName(each);
    return is(each, SQLiteView) ? getViewName(each) : [];
  });
}

test('the migrations create every table and view that the schema exports, and no others', async () => {
  const files = readdirSync(SCHEMA).filter((name) => name.endsWith('.ts'));
  const exported = await Promise.all(files.map(namesIn));
  const { connection } = openForWriting(':memory:');
  const made = connection
    .prepare("select name from sqlite_schema where type in ('table', 'view')")
    .pluck()
    .all()
    .filter((name) => !OTHERS.includes(String(name)));
  connection.close();
  expect(made.sort()).toEqual(exported.flat().sort());
});

test('each migration is dated later than the one before, because a mirror applies only later ones', () => {
  const journal = JSON.parse(readFileSync(new URL('migrations/meta/_journal.json', SCHEMA), 'utf8')) as {
    entries: { idx: number; when: number; tag: string }[];
  };
  const { entries } = journal;
  expect(entries.map(({ idx, tag }) => [idx, Number(tag.slice(0, 4))])).toEqual(entries.map((_, i) => [i, i]));
  const early = entries.filter(({ when }, i) => when <= (entries[i - 1]?.when ?? 0)).map(({ tag }) => tag);
  expect(early, 'generate these again, now that those before them are merged').toEqual([]);
});
