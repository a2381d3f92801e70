import { is, SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { ColumnKind } from '../../../schema/column-types.ts';
import type { StateStatement } from '../../../state/state-statements.ts';
import type { ColumnValue, Row } from '../../core/stream.ts';
import { onConflict } from '../sql/conflicts.ts';
import type { BulkUpsert, SqlAnswer, SqlStatements } from '../sql/statements.ts';
import { list, quote } from '../sql/tables.ts';
import { POSTGRES } from './dialect.ts';
import type { PostgresConnection, PostgresTransaction } from './transaction.ts';
import { arrayText, columnValue, parameter, TYPES } from './values.ts';

const NOTHING: SqlAnswer = { rows: [], changes: 0 };

/** Runs statements in turn. One whose result is not needed is sent without waiting: it costs no round trip. */
export async function performOn<Result>(
  transaction: PostgresTransaction,
  statements: SqlStatements<Result>,
): Promise<Result> {
  const sending: PostgresConnection = {
    async query(text, values) {
      transaction.send(text, values);
      return NOTHING;
    },
  };
  let step = statements.next();
  while (step.done !== true) {
    step = statements.next(await sendStatement(step.value.isUnanswered ? sending : transaction, step.value));
  }
  return step.value;
}

const DRIZZLE = new PgDialect();

function sendStatement(connection: PostgresConnection, asked: StateStatement | BulkUpsert): Promise<SqlAnswer> {
  if (is(asked, SQL)) {
    const { sql, params } = DRIZZLE.sqlToQuery(asked);
    return connection.query(sql, params.map(parameter));
  }
  if ('table' in asked) return write(connection, asked);
  const { text, names } = numbered(asked.sql);
  return connection.query(
    text,
    names.map((name) => parameter(asked.values[name] ?? null)),
  );
}

const known = new Map<string, ReturnType<typeof numbered>>();

/** A sync has fewer, because its statements name no environment. */
const MAX_STATEMENTS = 1000;

/** Turns `@name` into `$1`; the names are those of the values, in order of their numbers. */
function numbered(sql: string): { readonly text: string; readonly names: readonly string[] } {
  const before = known.get(sql);
  if (before !== undefined) return before;
  if (known.size >= MAX_STATEMENTS) known.clear();
  const names: string[] = [];
  const text = sql.replaceAll(/@(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  const made = { text, names };
  known.set(sql, made);
  return made;
}

/** Writes the rows of a page with one statement; repeated keys take another, as none can change a row twice. */
async function write(connection: PostgresConnection, upsert: BulkUpsert): Promise<SqlAnswer> {
  const written = distinctRows(upsert).map((rows) => {
    const { text, values } = bulkStatement({ ...upsert, rows });
    return connection.query(text, values);
  });
  const answers = await Promise.all(written);
  return { rows: [], changes: answers.reduce((sum, { changes }) => sum + changes, 0) };
}

/** Splits the rows into parts that have each key at most once, in the given order. */
function distinctRows({ table: { key }, rows, same, conflict }: BulkUpsert): (readonly Row[])[] {
  const own = key.filter((name) => !(name in same));
  if (conflict === 'append' || rows.length < 2) return [rows];
  const times = new Map<string, number>();
  const parts: Row[][] = [[]];
  for (const row of rows) {
    const joined = own.length === 1 ? String(row[own[0] as string]) : JSON.stringify(own.map((name) => row[name]));
    const before = times.get(joined) ?? 0;
    times.set(joined, before + 1);
    parts[before] ??= [];
    parts[before].push(row);
  }
  return parts;
}

/** Up to this many rows, `values` cost the server no more than arrays. */
const FEW_ROWS = 20;

/**
 * A column with the same value in every row is sent as one value. Of many rows, any other is sent as an array; few are
 * listed, because Citus sends `values` of one environment to its node as they are, and reads a `select` from parameters
 * first.
 */
function bulkStatement({ table, rows, same, conflict }: BulkUpsert): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const kindOf = (name: string): ColumnKind => table.kinds.get(name) ?? 'text';
  const one = (name: string, value: ColumnValue): string =>
    `$${values.push(columnValue(kindOf(name), value))}::${TYPES[kindOf(name)]}`;
  const constants = new Map<string, string>();
  for (const name of table.columns) {
    const constant = same[name] ?? null;
    if (constant !== null) constants.set(name, one(name, constant));
  }
  const others = table.columns.filter((name) => !constants.has(name));
  const tuple = (expressionOf: (name: string) => string): string =>
    table.columns.map((name) => constants.get(name) ?? expressionOf(name)).join(', ');
  const listed = (): string =>
    `values ${rows.map((row) => `(${tuple((name) => one(name, row[name] ?? null))})`).join(', ')}`;
  const unnested = (): string => {
    const arrays = others.map((name) => {
      const cells = rows.map((row) => row[name] ?? null);
      values.push(arrayText(kindOf(name), cells));
      return `$${values.length}::${TYPES[kindOf(name)]}[]`;
    });
    return `select ${tuple((name) => `u.${quote(name)}`)} from unnest(${arrays.join(', ')}) as u (${list(others)})`;
  };
  const text = `insert into ${quote(table.name)} (${list(table.columns)})
    ${rows.length <= FEW_ROWS ? listed() : unnested()}
    ${onConflict(POSTGRES, table, conflict)}`;
  return { text, values };
}
