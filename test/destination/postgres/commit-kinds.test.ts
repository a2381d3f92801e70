import { join } from 'node:path';
import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterAll, expect, test } from 'vitest';
import * as assetTables from '../../../schema/assets.ts';
import * as testTables from '../../../schema/data-tests.ts';
import * as healthTables from '../../../schema/health.ts';
import * as historyTables from '../../../schema/histories.ts';
import * as syncTables from '../../../schema/sync.ts';
import type { Row, Stream } from '../../../src/core/stream.ts';
import { createSqliteDestination } from '../../../src/destination/sqlite/destination.ts';
import { openForWriting } from '../../../src/destination/sqlite/open.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';
import { minute } from '../../support/conformance/workbench.ts';
import { pgliteDatabase } from '../../support/pglite-mirror.ts';
import { testFolder } from '../../support/test-folder.ts';
import { COMMIT_KINDS, furnish, furnishedRows } from '../commit-kinds.ts';
import { destinationOf, insertRow, pgliteMirror } from './setup.ts';

const TABLES = [assetTables, testTables, healthTables, syncTables, historyTables]
  .flatMap((family): unknown[] => Object.values(family))
  .filter((each) => is(each, SQLiteTable))
  .map((table) => getTableName(table as SQLiteTable))
  .filter((name) => !['environments', 'mirror', 'sync_runs'].includes(name));

const file = openForWriting(join(testFolder(), 'obsync.db'));
afterAll(() => file.connection.close());
const database = pgliteDatabase(await pgliteMirror('obsync'), 'obsync');

/** The tables that SQLite keeps as temporary ones. */
const OF_ROUNDS = ['seen_keys', 'seen_through', 'missing_keys', 'missing_found', 'staged_keys', 'staged_loaded'];

const OPTIONS = { envId: 'e', run: 2, clock: () => minute(1) };

/** The rows of a table as text, without PostgreSQL's own columns and generated ids. */
function comparable(table: string, rows: readonly Row[]): string[] {
  const own = new Set(['row_number', 'lease_owner', 'lease_epoch', ...(table === 'seen_pages' ? ['id'] : [])]);
  return rows
    .map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).filter(([name]) => !own.has(name)))))
    .sort();
}

async function inFile(stream: Stream, act: (typeof COMMIT_KINDS)[number]['act']): Promise<unknown[]> {
  const { connection } = file;
  connection.transaction(furnish)(connection, stream);
  const result = await act(createSqliteDestination(file, OPTIONS), stream);
  const held = TABLES.map((table) => [
    table,
    comparable(table, connection.prepare(`select * from ${table}`).all() as Row[]),
  ]);
  for (const table of [...TABLES, ...OF_ROUNDS]) connection.exec(`delete from ${table}`);
  return [result, held];
}

async function inPostgres(stream: Stream, act: (typeof COMMIT_KINDS)[number]['act']): Promise<unknown[]> {
  await database.transaction(async (connection) => {
    for (const { table, row } of furnishedRows(stream)) await insertRow(connection, table, row);
  });
  const result = await act(destinationOf(database, OPTIONS), stream);
  return database.transaction(async (connection) => {
    const held: unknown[] = [];
    for (const table of TABLES) {
      held.push([table, comparable(table, (await connection.query(`select * from ${table}`)).rows)]);
      await connection.query(`delete from ${table}`);
    }
    for (const table of OF_ROUNDS) await connection.query(`delete from ${table}`);
    return [result, held];
  });
}

test.each(CATALOGUE)(
  'every kind of commit of $name leaves the same rows in PostgreSQL as in SQLite',
  async (stream) => {
    for (const { title, act } of COMMIT_KINDS.filter((kind) => kind.isOf(stream)))
      expect(await inPostgres(stream, act), title).toEqual(await inFile(stream, act));
  },
);
