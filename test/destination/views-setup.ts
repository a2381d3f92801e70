import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { afterEach, beforeEach } from 'vitest';

export type Row = Record<string, unknown>;

const migrationsFolder = fileURLToPath(new URL('../../schema/migrations', import.meta.url));

let file: Database.Database;

/** Creates a mirror in memory for each test of the file, with the environment `e`. */
export function useMirror(): void {
  beforeEach(() => {
    file = new Database(':memory:');
    migrate(drizzle(file), { migrationsFolder });
    insert('environments', { id: 'e', name: 'Production' });
  });
  afterEach(() => file.close());
}

export const select = (statement: string, ...values: unknown[]) => file.prepare(statement).all(...values) as Row[];
export const pluck = (statement: string, ...values: unknown[]) =>
  file
    .prepare(statement)
    .pluck()
    .all(...values) as (string | number | null)[];
/** The driver's metadata of a result's columns. */
export const columnsOf = (statement: string) =>
  file
    .prepare(statement)
    .columns()
    .map(({ name, type }) => ({ name, type }));
export const run = (statement: string) => file.exec(statement);

/** Rows of a table, of the environment `e` unless they name another. */
export function add(table: string, ...rows: Row[]): void {
  for (const row of rows) insert(table, { env_id: 'e', ...row });
}

/** Runs of a sub-test, an hour apart, from midnight on. */
export function addRuns(statuses: string[], row: Row = {}, table = 'test_executions'): void {
  statuses.forEach((status, hour) => {
    const start_time = `2026-11-20T${String(hour).padStart(2, '0')}:00:00.000000Z`;
    const ids = { test_id: 't', sub_test_unique_id: 's', id: `run-${hour}`, sub_type: 'rows' };
    add(table, { ...ids, status, start_time, duration_seconds: 1, ...row });
  });
}

/** How far a stream was read. The row has no clock of the mirror. */
export function addCheckpoint(stream: string, watermark: string | null, row: Row = {}): void {
  const full = { env_id: 'e', stream, watermark, unavailable: 0, ...row };
  const names = Object.keys(full);
  file.prepare(`INSERT INTO sync_checkpoints (${names}) VALUES (${names.map(() => '?')})`).run(...Object.values(full));
}

/** The columns of a deleted row. */
export const gone = { deleted_at: '2026-11-19T00:00:00.000000Z', deletion: 'tombstone' };

function insert(table: string, row: Row): void {
  const full = { mirrored_at: '2026-11-20T00:00:00.000000Z', ...row };
  const names = Object.keys(full);
  file.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`).run(...Object.values(full));
}
