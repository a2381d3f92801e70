import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { fillCursorKey } from '../../../state/run-log.ts';
import { quote } from './shape.ts';

/** Shipped with the package, wherever this file has been compiled to. */
const MIGRATIONS = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'schema', 'migrations');

/** Makes the tables of a new file, or those of an older version what they are now. */
export function bringUpToDate({ connection, db }: { connection: Database; db: BetterSQLite3Database }): void {
  // A first sync that was killed left the secondary indexes out, and what is not there cannot be dropped.
  for (const name of droppedFrom(version(connection)))
    connection.exec(`create index if not exists ${quote(name)} on mirror (id)`);
  migrate(db, { migrationsFolder: MIGRATIONS });
  fillCursorKey(db);
}

/** Indexes of a file of this version that the migrations ahead of it drop. */
function droppedFrom(from: number): Set<string> {
  const dropped = new Set<string>();
  if (from === 0) return dropped;
  const made = new Set<string>();
  const ahead = readMigrationFiles({ migrationsFolder: MIGRATIONS }).filter(({ folderMillis }) => folderMillis > from);
  for (const statement of ahead.flatMap(({ sql }) => sql)) {
    const [, verb, name = ''] = /^\s*(CREATE|DROP)(?: UNIQUE)? INDEX `([^`]+)`/.exec(statement) ?? [];
    if (verb === 'CREATE') made.add(name);
    if (verb === 'DROP' && !made.has(name)) dropped.add(name);
  }
  return dropped;
}

/** The time at which the last migration of this file was written, in milliseconds; 0 for an empty file. */
export function version(connection: Database): number {
  const journal = connection
    .prepare("select count(*) from sqlite_schema where name = '__drizzle_migrations'")
    .pluck()
    .get();
  if (journal === 0) return 0;
  return Number(connection.prepare('select coalesce(max(created_at), 0) from __drizzle_migrations').pluck().get());
}

export function newestVersion(): number {
  const journal = JSON.parse(readFileSync(join(MIGRATIONS, 'meta', '_journal.json'), 'utf8')) as {
    entries: { when: number }[];
  };
  return Math.max(...journal.entries.map((entry) => entry.when));
}
