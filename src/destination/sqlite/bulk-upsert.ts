import type { Row, Value } from '../../core/stream.ts';
import type { Writing } from './part.ts';
import { differs, list, quote, replacing, type Shape, shapeOf, type TableOrName } from './shape.ts';

/**
 * Which of two rows under one key stays:
 * - `replace`: the given one, always
 * - `keep-newer`: the given one if it differs and its `synced_at` is not older (none counts as oldest)
 * - `ignore`: the one that is there
 * - `append`: both, in a table without a key or with one that SQLite gives out
 */
type Conflict = 'replace' | 'keep-newer' | 'ignore' | 'append';

interface Way {
  readonly conflict?: Conflict;
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
  writing: Writing,
  table: TableOrName,
  rows: readonly Row[],
  { conflict = 'replace', added = {} }: Way = {},
): number {
  const shape = shapeOf(table);
  const same = { env_id: writing.envId, mirrored_at: writing.mirroredAt, ...added };
  let changed = 0;
  let size = ROWS_PER_STATEMENT;
  for (let start = 0; start < rows.length; start += size) {
    while (start + size > rows.length) size /= 2;
    const count = size;
    const statement = writing.prepare(`${conflict} ${shape.name} ${count}`, () => upsertSql(shape, conflict, count));
    changed += statement.run(...valuesOf(shape, rows.slice(start, start + count), same)).changes;
  }
  return changed;
}

function valuesOf(shape: Shape, rows: readonly Row[], same: Row): Value[] {
  const values: Value[] = [];
  for (const row of rows) for (const name of shape.columns) values.push(same[name] ?? row[name] ?? null);
  return values;
}

function upsertSql(shape: Shape, conflict: Conflict, count: number): string {
  const row = `(${shape.columns.map(() => '?').join(', ')})`;
  const insert = `insert into ${quote(shape.name)} (${list(shape.columns)}) values ${Array(count).fill(row).join(', ')}`;
  if (conflict === 'append') return insert;
  if (conflict === 'ignore') return `${insert} on conflict do nothing`;
  return `${insert} ${replacing(shape)}${conflict === 'replace' ? '' : newer(shape)}`;
}

function newer(shape: Shape): string {
  const changed = `(${differs(quote(shape.name), 'excluded', shape)})`;
  if (!shape.columns.includes('synced_at')) return ` where ${changed}`;
  return ` where ${changed} and coalesce(excluded.synced_at, '') >= coalesce(${quote(shape.name)}.synced_at, '')`;
}
