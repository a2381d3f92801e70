import { closeSync, openSync, writeSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

/** Overwrites the first page of a table in an SQLite file that no other process has open. */
export function damageTable(path: string, table: string): void {
  const connection = new Sqlite(path);
  connection.pragma('wal_checkpoint(truncate)');
  const page = connection.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(table);
  const bytes = Number(connection.pragma('page_size', { simple: true }));
  connection.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(bytes, 0xee), 0, bytes, (Number(page) - 1) * bytes);
  closeSync(file);
}
