import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Pool } from 'undici';

/**
 * The fastest loop we know: it fetches the lists in parallel, parses their pages, upserts 64 rows per statement into
 * identical tables without any check, one transaction per page and without a memory limit, and builds the secondary
 * indexes at the end. Arguments: base URL, an empty mirror, and the output file; without the latter two it only fetches
 * and parses.
 */
const [baseUrl = '', empty = '', file = ''] = process.argv.slice(2);
const ROWS_PER_STATEMENT = 64;

/** The table of each list. */
const TABLES = {
  assets: 'assets',
  'assets/tables': 'assets',
  columns: 'columns',
  tests: 'tests',
  'asset-lineage': 'asset_lineage',
  'column-lineage': 'column_lineage',
  'latest-test-executions': 'latest_test_executions',
  'asset-health-scores': 'asset_health_scores',
};

type Item = Readonly<Record<string, unknown>>;
type Write = (items: readonly Item[]) => void;

const connection = file === '' ? null : openFile();
const indexes = connection === null ? [] : dropIndexes(connection);
const pool = new Pool(baseUrl, { connections: 4 });
let requests = 0;

function openFile(): Database.Database {
  copyFileSync(empty, file);
  const opened = new Database(file);
  opened.pragma('journal_mode = WAL');
  opened.pragma('synchronous = NORMAL');
  opened.pragma('cache_size = -4000000');
  return opened;
}

function dropIndexes(opened: Database.Database): string[] {
  const all = opened.prepare("select name, sql from sqlite_schema where type = 'index' and sql is not null").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of all) opened.exec(`drop index "${name}"`);
  return all.map(({ sql }) => sql);
}

function createWriter(opened: Database.Database, table: string): Write {
  const columns = opened.pragma(`table_info("${table}")`) as { name: string; pk: number }[];
  const names = columns.map(({ name }) => name);
  const key = columns.filter(({ pk }) => pk > 0).map(({ name }) => `"${name}"`);
  const row = `(${names.map(() => '?').join(', ')})`;
  const set = names.map((name) => `"${name}" = excluded."${name}"`).join(', ');
  const statements = new Map<number, { statement: Database.Statement; values: unknown[] }>();
  const prepare = (count: number): { statement: Database.Statement; values: unknown[] } => {
    const sql = `insert into "${table}" (${names.map((name) => `"${name}"`).join(', ')})
      values ${Array(count).fill(row).join(', ')} on conflict (${key.join(', ')}) do update set ${set}`;
    const made = { statement: opened.prepare(sql), values: new Array<unknown>(count * names.length) };
    statements.set(count, made);
    return made;
  };
  return (items) => {
    for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
      const count = Math.min(ROWS_PER_STATEMENT, items.length - start);
      const { statement, values } = statements.get(count) ?? prepare(count);
      let at = 0;
      for (let i = start; i < start + count; i++)
        for (const name of names) values[at++] = toValue(name, items[i] as Item);
      statement.run(values);
    }
  };
}

function toValue(column: string, item: Item): unknown {
  if (column === 'env_id') return 'bench';
  if (column === 'mirrored_at') return '2026-10-01T00:00:00.000000Z';
  const value = item[column];
  if (value === undefined || value === null) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'boolean' ? Number(value) : value;
}

/** Scores are in two tables: the total next to the asset, and a row per dimension. */
function createScoreWriter(opened: Database.Database): Write {
  const totals = createWriter(opened, 'asset_health_scores');
  const parts = createWriter(opened, 'asset_health_score_dimensions');
  return (items) => {
    totals(items.map(({ asset_id, total }) => ({ asset_id, ...(total as Item) })));
    parts(items.flatMap(({ asset_id, dimensions }) => (dimensions as Item[]).map((each) => ({ asset_id, ...each }))));
  };
}

async function readList([path, table]: [string, string]): Promise<void> {
  const of = table === 'asset_health_scores' ? createScoreWriter : createWriter;
  const write = connection === null ? null : connection.transaction(of(connection, table));
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await pool.request({ method: 'GET', path: `/public/beta/bench/${path}?limit=2000${query}` });
    requests += 1;
    const page = JSON.parse(await body.text()) as { items: Item[]; next_cursor: string | null };
    write?.(page.items);
    cursor = page.next_cursor ?? null;
  }
}

await Promise.all(Object.entries(TABLES).map(readList));
for (const sql of indexes) connection?.exec(sql);
connection?.close();
await pool.close();
console.log(JSON.stringify({ requests }));
