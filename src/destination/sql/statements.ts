import type { StateStatement } from '../../../state/state-statements.ts';
import type { Row, StreamName } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { TableSql } from './tables.ts';

/**
 * What a database is asked, one statement after the other, until the result is known. Each `yield` gives a statement to
 * the driver and receives its answer, so the same sequence runs at once or with a wait after every statement.
 * Statements of the state can stand among them.
 */
export type SqlStatements<Result> = Generator<StateStatement | BulkUpsert, Result, SqlAnswer>;

/** Rows of one table to be written. How many statements that takes is the driver's to decide. */
export interface BulkUpsert {
  readonly table: TableSql;
  readonly rows: readonly Row[];
  /** Columns that have the same value in every row; it replaces the row's own. */
  readonly same: Row;
  readonly conflict: UpsertConflict;
  /** Set where nobody needs the number of changed rows: a driver may go on before it knows it. */
  readonly isUnanswered?: boolean;
}

/**
 * Which of two rows under one key stays:
 * - `replace`: the given one, always
 * - `keep-newer`: the given one if it differs and its `synced_at` is not older (none counts as oldest)
 * - `ignore`: the one that is there
 * - `append`: both, in a table without a key or with one that the database assigns
 */
export type UpsertConflict = 'replace' | 'keep-newer' | 'ignore' | 'append';

export interface SqlAnswer {
  readonly rows: readonly Row[];
  /** How many rows the statement wrote or removed. */
  readonly changes: number;
}

/** What each database writes in its own way. */
export interface SqlDialect {
  /** The elements of a JSON array of texts, as a table with the column `value`. */
  texts(json: string): string;
  /**
   * The elements of a JSON array of arrays, as a table with the column `value`; `value ->> 0` is the first text of one.
   */
  arrays(json: string): string;
  /** The text of a field of a JSON object. */
  field(json: string, name: string): string;
  /** The UTC day of a time. */
  day(time: string): string;
  /** Of the staged rows `g` that meet a condition, the one of each key that was written last. */
  lastStaged(table: TableSql, staged: string, condition: string): string;
  /** The condition that two JSON values differ, where NULL equals NULL (R21). */
  jsonDiffers(one: string, other: string): string;
  /** What a unique index has for a column of a table's key. */
  unique(table: string, column: string): string;
}

/** The keys that a page has shown and that `seen_pages` does not have yet. */
export interface NotedPage {
  readonly envId: string;
  readonly stream: StreamName;
  readNumber: number;
  /** JSON, as in `seen_pages`. */
  readonly keys: string;
  /** Whether `seen_keys` has them. */
  isLoaded: boolean;
}

/**
 * Keys seen in the transaction under way. They are written to `seen_pages` when it ends; the keys of a round that ends
 * in it are never written. Only the transaction that noted them may leave any here.
 */
export interface NotedKeys {
  pages: NotedPage[];
}

/** One environment's part of a mirror. */
export interface MirrorScope {
  readonly envId: string;
  readonly dialect: SqlDialect;
  readonly noted: NotedKeys;
}

/** One commit to it. */
export interface CommitScope extends MirrorScope {
  readonly run: number;
  /** The mirror's own time of this commit (R21). */
  readonly mirroredAt: Instant;
  /** Streams that have marks made for them by removals. */
  readonly marking: ReadonlySet<StreamName>;
}

/** `@env` is the environment in every statement. */
export type SqlValues = Readonly<Record<string, unknown>>;

/** @returns how many rows were written or removed */
export function* run(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<number> {
  const { changes } = yield { sql, values: { ...values, env: scope.envId } };
  return changes;
}

/** As `run`, where nobody needs to know how many. */
export function* execute(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<void> {
  yield { sql, values: { ...values, env: scope.envId }, isUnanswered: true };
}

export function* rows(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<readonly Row[]> {
  const answer = yield { sql, values: { ...values, env: scope.envId } };
  return answer.rows;
}

/** The first column of every row. */
export function* column(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<unknown[]> {
  const found = yield* rows(scope, sql, values);
  return found.map((row) => Object.values(row)[0]);
}

/** The first column of the first row; undefined when there is none. */
export function* value(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<unknown> {
  const [first] = yield* column(scope, sql, values);
  return first;
}
