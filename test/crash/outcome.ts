import { hash } from 'node:crypto';
import Database from 'better-sqlite3';
import { comparableRows } from '../model/expected-rows.ts';
import type { Row, TestMirror } from '../model/test-mirror.ts';
import type { World } from '../model/world.ts';

/**
 * The tables that are equal however often a sync was interrupted: all but those about runs, their times and their
 * measurements.
 */
export type Contents = Readonly<Record<string, readonly string[]>>;

const TELLS_OF_RUNS = ['mirror', 'sync_runs', 'sync_stream_runs', 'sync_checkpoints', 'test_readings', 'list_lengths'];

/** The content of the mirror, including its indexes. @throws Error if the file is damaged */
export function contentsOf(path: string): Contents {
  return reading(path, (rows) => {
    refuseDamaged(path, rows);
    const schema = rows('select type, name, sql from sqlite_schema order by name');
    const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name));
    const own = tables.filter((name) => !name.startsWith('sqlite_') && !TELLS_OF_RUNS.includes(name));
    const rounds = rows('select env_id, stream, round, scan_due from sync_checkpoints');
    return {
      ...Object.fromEntries(own.map((name) => [name, lines(rows(`select * from ${name}`).map(lasting))])),
      schema: lines(schema.filter(({ name }) => !String(name).startsWith('sqlite_'))),
      rounds: lines(rounds),
    };
  });
}

/** The entire content of a file as text. @throws Error if the file is damaged */
export function digestOf(path: string): string {
  return reading(path, (rows) => {
    refuseDamaged(path, rows);
    const schema = rows('select name, sql from sqlite_schema order by name');
    const tables = rows("select name from sqlite_schema where type = 'table' order by name");
    return hash('sha1', JSON.stringify([schema, ...tables.map(({ name }) => rows(`select * from ${name}`))]));
  });
}

function refuseDamaged(path: string, rows: Rows): void {
  const check = JSON.stringify(rows('pragma integrity_check'));
  if (check !== '[{"integrity_check":"ok"}]') throw new Error(`${path} is damaged: ${check}`);
}

/** Mirror and world, for a single assertion. */
export function sidesOf(path: string, world: World): { mirror: unknown; world: unknown } {
  return reading(path, (rows) => comparableRows({ rows } as unknown as TestMirror, world.environment()));
}

type Rows = (sql: string, ...values: unknown[]) => Row[];

export function reading<T>(path: string, look: (rows: Rows) => T): T {
  const connection = new Database(path, { fileMustExist: true });
  try {
    return look((sql, ...values) => connection.prepare(sql).all(...values) as Row[]);
  } finally {
    connection.close();
  }
}

function lines(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** They depend on when a run read something, or on how many runs it took. */
const OF_RUNS = new Set(['mirrored_at', 'rows_removed_at', 'run_id', 'seen_at', 'number', 'scores_at']);

/** The row without what depends on runs. The time of an absence is that of the run that noticed it. */
function lasting(whole: Row): Row {
  const row = Object.fromEntries(Object.entries(whole).filter(([name]) => !OF_RUNS.has(name)));
  return row['deletion'] === 'absent' ? { ...row, deleted_at: 'noticed' } : row;
}
