import type { ColumnValue, Row } from '../../core/stream.ts';
import type { CommitScope } from './mirror-scope.ts';
import { differs, list, quote, replacing, type TableOrName, type TableSql, tableSqlOf } from './table-sql.ts';

/**
 * Which of two rows under one key stays:
 * - `replace`: the given one, always
 * - `keep-newer`: the given one if it differs and its `synced_at` is not older (none counts as oldest)
 * - `ignore`: the one that is there
 * - `append`: both, in a table without a key or with one that SQLite gives out
 */
type UpsertConflict = 'replace' | 'keep-newer' | 'ignore' | 'append';

interface UpsertOptions {
  readonly conflict?: UpsertConflict;
  /** Columns that are the same in every row; they stand over the row's own. */
  readonly added?: Row;
}

/** A power of two: a rest is written in halves of it, so that a table needs few statements whatever the pages hold. */
const ROWS_PER_STATEMENT = 64;

/**
 * Writes many rows of one table with few statements; each row needs a value for every column but the mirror's own.
 * @returns how many rows were inserted or changed
 */
export function upsert(
  commitScope: CommitScope,
  table: TableOrName,
  rows: readonly Row[],
  { conflict = 'replace', added = {} }: UpsertOptions = {},
): number {
  const shape = tableSqlOf(table);
  const same = { env_id: commitScope.envId, mirrored_at: commitScope.mirroredAt, ...added };
  let changed = 0;
  let size = ROWS_PER_STATEMENT;
  for (let start = 0; start < rows.length; start += size) {
    while (start + size > rows.length) size /= 2;
    const count = size;
    const statement = commitScope.prepare(`${conflict} ${shape.name} ${count}`, () =>
      upsertSql(shape, conflict, count),
    );
    changed += statement.run(...valuesOf(shape, rows.slice(start, start + count), same)).changes;
  }
  return changed;
}

function valuesOf(tableSql: TableSql, rows: readonly Row[], same: Row): ColumnValue[] {
  const values: ColumnValue[] = [];
  for (const row of rows) for (const name of tableSql.columns) values.push(same[name] ?? row[name] ?? null);
  return values;
}

function upsertSql(tableSql: TableSql, upsertConflict: UpsertConflict, count: number): string {
  const row = `(${tableSql.columns.map(() => '?').join(', ')})`;
  const insert = `insert into ${quote(tableSql.name)} (${list(tableSql.columns)}) values ${Array(count).fill(row).join(', ')}`;
  if (upsertConflict === 'append') return insert;
  if (upsertConflict === 'ignore') return `${insert} on conflict do nothing`;
  return `${insert} ${replacing(tableSql)}${upsertConflict === 'replace' ? '' : newer(tableSql)}`;
}

function newer(tableSql: TableSql): string {
  const changed = `(${differs(quote(tableSql.name), 'excluded', tableSql)})`;
  if (!tableSql.columns.includes('synced_at')) return ` where ${changed}`;
  return ` where ${changed} and coalesce(excluded.synced_at, '') >= coalesce(${quote(tableSql.name)}.synced_at, '')`;
}
