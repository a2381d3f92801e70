/** SQL and the values of its named parameters. Requests that differ only in values share the same SQL. */
export interface SqlStatement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

export type SqlRow = Readonly<Record<string, string | number | null>>;

/** A subquery with the values of a list parameter. */
export const selectValues = (parameter: string): string => `(select value from json_each(@${parameter}))`;
