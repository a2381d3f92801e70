import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Pool } from 'undici';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

/**
 * The fastest loop we know: fetches and parses the pages, upserts 64 rows a statement into equal tables without any check,
 * and builds the secondary indexes at the end. Arguments: base URL and file.
 */
const [baseUrl = '', file = ''] = process.argv.slice(2);
const connection = new Database(file);
connection.pragma('journal_mode = WAL');
connection.pragma('synchronous = NORMAL');
migrate(drizzle(connection), { migrationsFolder: 'schema/migrations' });
const indexes = connection
  .prepare("select name, sql from sqlite_schema where type = 'index' and sql is not null")
  .all() as { name: string; sql: string }[];
for (const { name } of indexes) connection.exec(`drop index "${name}"`);

const pool = new Pool(baseUrl);
let requests = 0;
for (const stream of CATALOGUE.filter((entry) => !entry.optional)) {
  const { name, columns, primaryKeys } = getTableConfig(stream.table as SQLiteTable);
  const names = columns.map((column) => column.name);
  const key = primaryKeys[0]?.columns.map((column) => column.name) ?? [];
  const set = names.map((column) => `"${column}" = excluded."${column}"`).join(', ');
  const sql = (count: number): string =>
    `insert into "${name}" (${names.map((column) => `"${column}"`).join(', ')}) values ${Array(count)
      .fill(`(${names.map(() => '?').join(', ')})`)
      .join(', ')}
      on conflict (${key.map((column) => `"${column}"`).join(', ')}) do update set ${set}`;
  const statements = new Map<number, Database.Statement>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await pool.request({
      method: 'GET',
      path: `/public/beta/bench/${stream.path.join('/')}?limit=2000${query}`,
    });
    requests += 1;
    const page = JSON.parse(await body.text()) as { items: Record<string, unknown>[]; next_cursor: string | null };
    connection.transaction(() => {
      for (let start = 0; start < page.items.length; start += 64) {
        const batch = page.items.slice(start, start + 64);
        const statement = statements.get(batch.length) ?? connection.prepare(sql(batch.length));
        statements.set(batch.length, statement);
        statement.run(...batch.flatMap((item) => names.map((column) => toValue(column, item))));
      }
    })();
    cursor = page.next_cursor ?? null;
  }
}
for (const { sql } of indexes) connection.exec(sql);
connection.close();
await pool.close();
console.log(JSON.stringify({ requests }));

function toValue(column: string, item: Record<string, unknown>): unknown {
  if (column === 'env_id') return 'bench';
  if (column === 'mirrored_at') return '2026-10-01T00:00:00.000000Z';
  const value = item[column] ?? (item['total'] as Record<string, unknown> | undefined)?.[column] ?? null;
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : typeof value === 'boolean'
      ? Number(value)
      : value;
}
