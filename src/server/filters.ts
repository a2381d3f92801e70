/** An array filter as SQL: `values` is a subquery with the parameter's values. `r` is the row, `@env` the environment. */
export interface ArrayFilter {
  /** Of a row at hand. */
  readonly matches: (values: string) => string;
  readonly describe: string;
  /** The same in parts that have no row in common; an index leads from the values to the rows of the first condition of each. */
  readonly branches?: (values: string) => readonly (readonly string[])[];
  /** The rows of another table on that way. */
  readonly through?: (values: string) => string;
}

export type ArrayFilters = Readonly<Record<string, ArrayFilter>>;

/** The values of a parameter, as a subquery. */
export const valuesIn = (parameter: string): string => `(select value from json_each(@${parameter}))`;

/** Rows whose column has one of the values. */
export const oneOf = (column: string, describe: string): ArrayFilter => ({
  matches: (values) => `${column} in ${values}`,
  describe,
});

/** The same, by the key or another index. */
export const oneOfIndexed = (column: string, describe: string): ArrayFilter => {
  const { matches } = oneOf(column, describe);
  return { matches, describe, branches: (values) => [[matches(values)]] };
};

export const touchingAsset: ArrayFilter = {
  matches: (values) => `(r.upstream_asset_id in ${values} or r.downstream_asset_id in ${values})`,
  branches: (values) => [
    [`r.upstream_asset_id in ${values}`],
    [`r.downstream_asset_id in ${values}`, `r.upstream_asset_id not in ${values}`],
  ],
  describe: 'Only edges that touch one of these assets, at either end',
};

const onAssets = (table: string, values: string): string =>
  `select o.id from ${table} o where o.env_id = @env and o.asset_id in ${values}`;

/** `c` is the downstream column. */
export const intoAsset: ArrayFilter = {
  matches: (values) => `c.asset_id in ${values}`,
  branches: (values) => [[`r.downstream_column_id in (${onAssets('columns', values)})`]],
  through: (values) => onAssets('columns', values),
  describe: 'Only edges whose downstream column belongs to one of these assets',
};

export const ofTestsOnAsset: ArrayFilter = {
  matches: (values) => ofTest('asset_id', values),
  branches: (values) => [[`r.test_id in (${onAssets('tests', values)})`]],
  through: (values) => onAssets('tests', values),
  describe: 'Only sub-tests of tests on these assets',
};

const ofTest = (column: string, values: string): string =>
  `exists (select 1 from tests o where o.env_id = r.env_id and o.id = r.test_id and o.${column} in ${values})`;

/** Rows of parent tests whose `column` has one of the values. */
export const ofTests = (column: string, describe: string): ArrayFilter => ({
  matches: (values) => ofTest(column, values),
  describe,
});

export const tagged: ArrayFilter = {
  matches: (values) => `exists (select 1 from json_each(r.tags) t where t.value in ${values})`,
  describe: 'Only those with any of these tags',
};

/** What stands before the last `/`. */
const parentOf = (path: string): string => `substr(${path}, 1, length(rtrim(${path}, replace(${path}, '/', ''))) - 1)`;

/**
 * The condition that `path` equals one of the values or is nested under it; a trailing `/` does not count. Asked upwards: the
 * few ancestors of a row are looked up among the values, which are put in order once, however many there are.
 */
export const under = (path: string, values: string): string =>
  `exists (with recursive ancestors(path) as (select ${path}
      union all select ${parentOf('path')} from ancestors where instr(path, '/'))
    select 1 from ancestors where path in (select rtrim(value, '/') from ${values}))`;

/** Rows whose path equals one of the values or is nested under it. */
export const underPath: ArrayFilter = {
  matches: (values) => under('r.path', values),
  describe: 'Only those at one of these paths or nested under one (`/`-separated; a trailing `/` is ignored)',
};
