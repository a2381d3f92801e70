/** A statement with named parameters. */
export interface PageStatement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

export type PageRow = Readonly<Record<string, string | number | null>>;

/** A way to read one state of a mirror. */
export interface PageReads {
  /** The same object for all states of the same mirror: what is kept for the next request belongs to it. */
  readonly memory: object;
  rows(statement: PageStatement): readonly PageRow[];
  /** The rows of a statement with one text column. */
  texts(statement: PageStatement): readonly (string | null)[];
}

/** The environment that is looked at, and what the reader may see of it. */
export interface PageScope {
  readonly env: string;
  /** Null for a reader who may see all assets. */
  readonly limit: AssetLimit | null;
  readonly seesTests: boolean;
}

/** The assets that a reader may see, in SQL. */
interface AssetLimit {
  /** A subquery of their ids. */
  readonly ids: string;
  readonly values: PageStatement['values'];
}

/**
 * The beginning of every condition: rows of the environment whose asset the reader may see. The asset's column stands
 * outside of the subquery, which therefore takes it for none of its own.
 */
export function seen({ limit }: PageScope, of: { readonly env: string; readonly asset: string }): string {
  return `${of.env} = @env${limit === null ? '' : ` and ${of.asset} in ${limit.ids}`}`;
}

/** The values that `seen` needs, and more. */
export function valuesIn({ env, limit }: PageScope, more: PageStatement['values'] = {}): PageStatement['values'] {
  return { env, ...limit?.values, ...more };
}

/** A parameter with a list of texts, as a subquery. */
export const listed = (parameter: string): string => `(select value from json_each(@${parameter}))`;

export const textOf = (value: string | number | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value);

export const numberOf = (value: string | number | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);
