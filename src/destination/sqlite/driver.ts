import type { Database, Statement } from 'better-sqlite3';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import type { StateStatement } from '../../../state/state-statements.ts';
import { sameJson } from '../../core/json.ts';
import type { ColumnValue, Row } from '../../core/stream.ts';
import { onConflict } from '../sql/conflicts.ts';
import type { BulkUpsert, MirrorScope, NotedKeys, SqlAnswer, SqlDialect, SqlStatements } from '../sql/statements.ts';
import { list, nameOf, quote } from '../sql/tables.ts';
import { withFileErrors } from './file-error.ts';

/** The prepared statement with this name, prepared once per connection. Without `text`, the name is the SQL itself. */
export type PrepareStatement = (name: string, text?: () => string) => Statement;

/** Syncs of one mirror prepare up to 460: no statement names an environment. A server has one per set of filters. */
const MAX_STATEMENTS = 500;

export function createStatementCache(connection: Database): PrepareStatement {
  // 1 if both texts hold the same JSON (R21).
  connection.function('same_json', { deterministic: true }, (a: unknown, b: unknown) =>
    Number(typeof a === 'string' && typeof b === 'string' && sameJson(a, b)),
  );
  const known = new Map<string, Statement>();
  return (name, text = () => name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const statement = connection.prepare(text());
    known.set(name, statement);
    const [oldest = name] = known.keys();
    if (known.size > MAX_STATEMENTS) known.delete(oldest);
    return statement;
  };
}

export const SQLITE: SqlDialect = {
  texts: (json) => `json_each(${json})`,
  arrays: (json) => `json_each(${json})`,
  field: (json, name) => `${json} ->> '${name}'`,
  day: (time) => `substr(${time}, 1, 10)`,
  // SQLite takes the other columns from the row that has the maximum.
  lastStaged: ({ key }, staged, condition) =>
    `select *, max(g.rowid) from ${nameOf(staged)} g where ${condition} group by ${list(key, 'g.')}`,
  jsonDiffers: (one, other) => `(${one} is distinct from ${other} and not same_json(${one}, ${other}))`,
  unique: (_, column) => quote(column),
};

export function sqliteScope({ noted }: { readonly noted: NotedKeys }, envId: string): MirrorScope {
  return { envId, dialect: SQLITE, noted };
}

/** Runs all statements synchronously, with nothing in between. */
export function perform<Result>(prepare: PrepareStatement, statements: SqlStatements<Result>): Result {
  let step = statements.next();
  while (step.done !== true) {
    const asked = step.value;
    step = statements.next('table' in asked ? write(prepare, asked) : single(prepare, asked));
  }
  return step.value;
}

/** Like `perform`, in one transaction. */
export function performAtOnce<Result>(
  { connection, prepare }: { readonly connection: Database; readonly prepare: PrepareStatement },
  statements: SqlStatements<Result>,
): Result {
  return connection.transaction(() => perform(prepare, statements))();
}

const DRIZZLE = new SQLiteSyncDialect();

function single(prepare: PrepareStatement, asked: StateStatement): SqlAnswer {
  if ('values' in asked)
    return answer(
      prepare(asked.sql, () => plannedOnce(asked.sql)),
      asked.values,
    );
  const { sql, params } = DRIZZLE.sqlToQuery(asked);
  return answer(prepare(sql), params);
}

/**
 * While planning, SQLite compares the parameters of some statements, and then plans these again each time that a value
 * is bound, which takes ten times as long as running them. It doesn't compare what follows a unary plus, which does
 * nothing.
 */
function plannedOnce(sql: string): string {
  return sql.replaceAll('@', '+@');
}

/** Makes a port's method from its statements. */
export function portMethods({ path, prepare }: { readonly path: string; readonly prepare: PrepareStatement }) {
  const facing = withFileErrors(path);
  return <Given extends unknown[], Result>(statementsOf: (...given: Given) => SqlStatements<Result>) =>
    facing((...given: Given) => perform(prepare, statementsOf(...given)));
}

function answer(statement: Statement, values: object): SqlAnswer {
  if (statement.reader) return { rows: statement.all(values) as Row[], changes: 0 };
  return { rows: [], changes: statement.run(values).changes };
}

/** A power of two. The remaining rows are written in halves of it, so a table needs few statements. */
const ROWS_PER_STATEMENT = 64;

/** Writes many rows with few statements. What differs between rows is bound by position, the rest once by name. */
function write(prepare: PrepareStatement, { table, rows: given, same, conflict }: BulkUpsert): SqlAnswer {
  const own = table.columns.filter((name) => (same[name] ?? null) === null);
  const rows = conflict === 'append' ? given : inKeyOrder(given, table.key.find((name) => own.includes(name)) ?? '');
  const shape = `${conflict} ${table.name} ${own.join()}`;
  let changes = 0;
  let size = ROWS_PER_STATEMENT;
  for (let start = 0; start < rows.length; start += size) {
    while (start + size > rows.length) size /= 2;
    const count = size;
    const statement = prepare(`${shape} ${count}`, () => upsertSql({ table, conflict }, own, count));
    changes += statement.run(valuesOf(rows, own, start, count), same).changes;
  }
  return { rows: [], changes };
}

/**
 * Neighbours in the key's index share a page of the file, which is then read and written once. Of equal keys, the last
 * row stays the last.
 */
function inKeyOrder(rows: readonly Row[], key: string): readonly Row[] {
  return rows.toSorted((a, b) => {
    const [one, other] = [a[key] as string, b[key] as string];
    return one < other ? -1 : Number(one > other);
  });
}

function valuesOf(rows: readonly Row[], own: readonly string[], start: number, count: number): ColumnValue[] {
  const values = new Array<ColumnValue>(own.length * count);
  let at = 0;
  for (const row of rows.slice(start, start + count)) for (const name of own) values[at++] = row[name] ?? null;
  return values;
}

function upsertSql(
  { table, conflict }: Pick<BulkUpsert, 'table' | 'conflict'>,
  own: readonly string[],
  count: number,
): string {
  const row = `(${table.columns.map((name) => (own.includes(name) ? '?' : `:${name}`)).join(', ')})`;
  const insert = `insert into ${quote(table.name)} (${list(table.columns)}) values ${Array(count).fill(row).join(', ')}`;
  return `${insert} ${onConflict(SQLITE, table, conflict)}`;
}
