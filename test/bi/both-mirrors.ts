import type { Row } from '../../src/core/stream.ts';
import { migratePostgres } from '../../src/destination/postgres/migrations.ts';
import type { PostgresConnection } from '../../src/destination/postgres/transaction.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { TABLES } from '../support/compare-mirrors.ts';
import { pgliteConnection } from '../support/pglite-mirror.ts';
import type { Database } from './tool-queries.ts';

/** A reserved word, which SQL has to quote. */
export const SCHEMA = 'order';

/** The same mirror in a file and in PostgreSQL. */
export interface BothMirrors {
  ask(database: Database, sql: string): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** In PostgreSQL it is asked as a role that may only read, without a search path, in a time zone far from UTC. */
export async function startBothMirrors(file: MirrorFile): Promise<BothMirrors> {
  const postgres = await pgliteConnection();
  await migratePostgres(postgres, SCHEMA);
  await copyTables(file, postgres);
  for (const sql of [
    'analyze',
    'create role bi',
    `grant usage on schema "${SCHEMA}" to bi`,
    `grant select on all tables in schema "${SCHEMA}" to bi`,
    'set role bi',
    "set search_path to ''",
    "set timezone = 'Pacific/Kiritimati'",
  ])
    await postgres.query(sql);
  // As JSON, times have the offset of the time zone.
  const asJson = (sql: string): string => `select cast(row_to_json(q) as text) as json from (${sql}) q`;
  return {
    ask: async (database, sql) =>
      database === 'sqlite'
        ? (file.connection.prepare(sql).all() as Row[])
        : (await postgres.query(asJson(sql))).rows.map(({ json }) => JSON.parse(String(json))),
    close: async () => {
      file.connection.close();
      await postgres.close();
    },
  };
}

const ROWS_PER_INSERT = 5000;

async function copyTables({ connection }: MirrorFile, postgres: PostgresConnection): Promise<void> {
  const described = await postgres.query(
    `select table_name, column_name, data_type from information_schema.columns where table_schema = '${SCHEMA}'`,
  );
  const types = new Map(described.rows.map((row) => [`${row['table_name']}.${row['column_name']}`, row['data_type']]));
  for (const { name, columns } of TABLES) {
    const named = columns.map((column) => `"${column}"`).join(', ');
    const typed = columns.map((column) => `cast("${column}" as ${types.get(`${name}.${column}`)})`).join(', ');
    const texts = columns.map((column) => `"${column}" text`).join(', ');
    const rows = connection.prepare(`select ${named} from "${name}"`).all();
    for (let i = 0; i < rows.length; i += ROWS_PER_INSERT)
      await postgres.query(
        `insert into "${SCHEMA}"."${name}" (${named}) select ${typed} from json_to_recordset($1::json) as r (${texts})`,
        [JSON.stringify(rows.slice(i, i + ROWS_PER_INSERT))],
      );
  }
}
