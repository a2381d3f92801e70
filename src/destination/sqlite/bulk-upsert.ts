import type { Database, Statement } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Row, Value } from '../../core/stream.ts';
import { differs, list, quote, type Shape, shapeOf } from './shape.ts';

/** Which of two rows under one key stays: the given one, always; or only if it differs and is not older. */
export type Conflict = 'replace' | 'keep-newer' | 'ignore';

const ROWS_PER_STATEMENT = 64;

/** Writes many rows of one table with few statements; each row needs a value for every column. */
export interface BulkUpsert {
  /** @returns how many rows were inserted or changed */
  write(rows: readonly Row[], added: Row): number;
}

export function bulkUpsert(connection: Database, table: SQLiteTable, conflict: Conflict): BulkUpsert {
  const shape = shapeOf(table);
  const statements = new Map<number, Statement>();
  const statement = (count: number): Statement => {
    const known = statements.get(count) ?? connection.prepare(upsertSql(shape, conflict, count));
    statements.set(count, known);
    return known;
  };
  return {
    write(rows, added) {
      let changed = 0;
      for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
        const batch = rows.slice(start, start + ROWS_PER_STATEMENT);
        changed += statement(batch.length).run(...valuesOf(shape, batch, added)).changes;
      }
      return changed;
    },
  };
}

/** `added` gives the columns that are the same in every row, and stands over the row's own. */
function valuesOf(shape: Shape, rows: readonly Row[], added: Row): Value[] {
  const values: Value[] = [];
  for (const row of rows) for (const name of shape.columns) values.push(added[name] ?? row[name] ?? null);
  return values;
}

function upsertSql(shape: Shape, conflict: Conflict, count: number): string {
  const row = `(${shape.columns.map(() => '?').join(', ')})`;
  const insert = `insert into ${quote(shape.name)} (${list(shape.columns)}) values ${Array(count).fill(row).join(', ')}`;
  if (conflict === 'ignore') return `${insert} on conflict do nothing`;
  const others = shape.columns.filter((name) => !shape.key.includes(name));
  const set = others.map((name) => `${quote(name)} = excluded.${quote(name)}`).join(', ');
  return `${insert} on conflict (${list(shape.key)}) do update set ${set}${conflict === 'replace' ? '' : newer(shape)}`;
}

function newer(shape: Shape): string {
  const changed = `(${differs(quote(shape.name), 'excluded', shape.content)})`;
  if (!shape.columns.includes('synced_at')) return ` where ${changed}`;
  return ` where ${changed} and coalesce(excluded.synced_at, '') >= coalesce(${quote(shape.name)}.synced_at, '')`;
}
