import type { SqlRow, SqlStatement } from './sql.ts';

/** Reads one state of a mirror. */
export interface PageReads {
  /** The same object for all states of one mirror. Caches that outlive a request are keyed by it. */
  readonly memory: object;
  rows(statement: SqlStatement): readonly SqlRow[];
  /** The rows of a statement with one text column, without allocating an object per row. */
  texts(statement: SqlStatement): readonly (string | null)[];
}

/** The requested environment, and what the reader may see of it. */
export interface PageScope {
  readonly env: string;
  /** Null if the reader may see all assets. */
  readonly limit: AssetLimit | null;
  readonly seesTests: boolean;
}

/** The assets that a restricted reader may see. */
interface AssetLimit {
  /** A subquery that returns their ids. */
  readonly ids: string;
  readonly values: SqlStatement['values'];
}

/**
 * Every condition starts with this: rows of the environment whose asset the reader may see. The asset's column stays
 * outside the subquery, which could otherwise resolve it to a column of its own.
 */
export function seen({ limit }: PageScope, of: { readonly env: string; readonly asset: string }): string {
  return `${of.env} = @env${limit === null ? '' : ` and ${of.asset} in ${limit.ids}`}`;
}

/** The values of the parameters in `seen`, and more. */
export function valuesIn({ env, limit }: PageScope, more: SqlStatement['values'] = {}): SqlStatement['values'] {
  return { env, ...limit?.values, ...more };
}

export const textOf = (value: string | number | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value);

export const numberOf = (value: string | number | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);
