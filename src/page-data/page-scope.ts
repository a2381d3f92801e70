import type { SqlRow, SqlStatement } from './sql.ts';

/** Reads one state of a mirror. */
export interface PageReads {
  /** The same object for all states of one mirror. Caches that outlive a request are keyed by it. */
  readonly memory: object;
  /** The caller says what the rows look like. */
  rows<Row = SqlRow>(statement: SqlStatement): readonly Row[];
  /** The rows of a statement with one text column, without allocating an object per row. */
  texts(statement: SqlStatement): readonly (string | null)[];
}

/** The requested environment in one state of a mirror, and what the reader may see of it. */
export interface PageScope {
  readonly reads: PageReads;
  readonly env: string;
  /** A subquery for the ids of the assets that the reader may see, with its values; null if they may see all. */
  readonly limit: { readonly ids: string; readonly values: SqlStatement['values'] } | null;
  readonly seesTests: boolean;
}

/**
 * Every condition starts with this: rows of the environment whose asset the reader may see. The asset's column stays
 * outside the subquery, which could otherwise resolve it to a column of its own.
 */
export const seen = ({ limit }: PageScope, asset: string, env = 'env_id'): string =>
  `${env} = @env${limit === null ? '' : ` and ${asset} in ${limit.ids}`}`;

/** Values by the name of their parameter. A list is the parameter of `selectValues`. */
export type ScopedValues = Readonly<Record<string, string | number | readonly (string | null)[]>>;

export function bind(sql: string, values: ScopedValues = {}): SqlStatement {
  const texts = Object.entries(values).map(([name, each]) => [name, Array.isArray(each) ? JSON.stringify(each) : each]);
  return { sql, values: Object.fromEntries(texts) };
}

/** A statement that may use `seen`, `@env` and these values. */
function statementIn({ env, limit }: PageScope, sql: string, values: ScopedValues): SqlStatement {
  return { sql, values: { env, ...limit?.values, ...bind(sql, values).values } };
}

export const selectRows = <Row = SqlRow>(scope: PageScope, sql: string, values: ScopedValues = {}): readonly Row[] =>
  scope.reads.rows<Row>(statementIn(scope, sql, values));

export const selectTexts = (scope: PageScope, sql: string, values: ScopedValues = {}): readonly (string | null)[] =>
  scope.reads.texts(statementIn(scope, sql, values));

/** The row of a statement that always has exactly one. */
export const selectOne = <Row>(scope: PageScope, sql: string, values: ScopedValues = {}): Row =>
  selectRows<Row>(scope, sql, values)[0] as Row;

/** The number of rows of `from … where …`. */
export const selectCount = (scope: PageScope, from: string, values: ScopedValues = {}): number =>
  selectOne<{ count: number }>(scope, `select count(*) as count ${from}`, values).count;
