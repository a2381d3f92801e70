import type { StateStatement } from '../../../state/state-statements.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { TableSql } from './tables.ts';

/**
 * The statements of an operation, one after the other, until its result is known. Each `yield` hands a statement to the
 * driver and receives its answer, so the same sequence runs synchronously or with a wait after every statement.
 * Statements of the state may occur among them.
 */
export type SqlStatements<Result> = Generator<StateStatement | BulkUpsert, Result, SqlAnswer>;

/** Rows to write to one table. The driver decides how many statements that takes. */
export interface BulkUpsert {
  readonly table: TableSql;
  readonly rows: readonly Row[];
  /** Columns with the same value in every row; it overrides the row's own. */
  readonly same: Row;
  readonly conflict: UpsertConflict;
  /** Set if the number of changed rows is not needed: the driver may continue before it knows it. */
  readonly isUnanswered?: boolean;
}

/**
 * Which of two rows with the same key stays:
 * - `replace`: always the given one
 * - `keep-newer`: the given one if it differs and its `synced_at` is not older (null counts as oldest)
 * - `ignore`: the existing one
 * - `append`: both, in a table without a key or with one that the database assigns
 */
export type UpsertConflict = 'replace' | 'keep-newer' | 'ignore' | 'append';

export interface SqlAnswer {
  readonly rows: readonly Row[];
  /** How many rows the statement wrote or removed. */
  readonly changes: number;
}

/** What differs between databases. */
export interface SqlDialect {
  /** A table with the column `value`: the elements of a JSON array of texts. */
  texts(json: string): string;
  /** A table with the column `value`, of a JSON array of arrays. `value ->> 0` is the first text of one. */
  arrays(json: string): string;
  /** A field of a JSON object, as text. */
  field(json: string, name: string): string;
  /** The UTC day of a time. */
  day(time: string): string;
  /** The staged rows `g` that meet a condition, only the last written one of each key. */
  lastStaged(table: TableSql, staged: string, condition: string): string;
  /** The condition that two JSON values differ, where NULL equals NULL (R21). */
  jsonDiffers(one: string, other: string): string;
  /** What a unique index has for a column of a table's key. */
  unique(table: string, column: string): string;
}

/** The keys of a page that are not in `seen_pages` yet. */
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
 * Keys seen in the current transaction. They are written to `seen_pages` when it ends, except those of a round that
 * ends in it. Only the transaction that recorded them may leave any here.
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

/** One commit of a stream to it. */
export interface CommitScope extends MirrorScope {
  readonly stream: Stream;
  readonly run: number;
  /** The mirror's own time of this commit (R21). */
  readonly mirroredAt: Instant;
  /** Streams that removals make marks for. */
  readonly marking: ReadonlySet<StreamName>;
  /** Streams that it has reopened. */
  readonly reopened: Set<StreamName>;
}

/** `@env` is the environment in every statement. */
export type SqlValues = Readonly<Record<string, unknown>>;

/** @returns how many rows were written or removed */
export function* run(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<number> {
  const { changes } = yield { sql, values: { ...values, env: scope.envId } };
  return changes;
}

/** Like `run`, if the number of rows is not needed. */
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

/** The first column of the first row; undefined if there is none. */
export function* value(scope: MirrorScope, sql: string, values: SqlValues = {}): SqlStatements<unknown> {
  const [first] = yield* column(scope, sql, values);
  return first;
}
