/** An array filter as SQL: `values` is a subquery with the parameter's values. `r` is the row, `@env` the environment. */
type Filter = (values: string) => string;

export type Filters = Readonly<Record<string, Filter>>;

export const among =
  (column: string): Filter =>
  (values) =>
    `${column} in ${values}`;

/** Edges that touch one of the assets, at either end. */
export const touchingAsset: Filter = (values) =>
  `(r.upstream_asset_id in ${values} or r.downstream_asset_id in ${values})`;

/** Edges into the columns of one of the assets. */
export const intoAsset: Filter = (values) =>
  `r.downstream_column_id in (select o.id from columns o where o.env_id = @env and o.asset_id in ${values})`;

/** Rows of parent tests whose `column` has one of the values. */
export const ofTests =
  (column: string): Filter =>
  (values) =>
    `r.test_id in (select p.id from tests p where p.env_id = @env and p.${column} in ${values})`;

export const tagged: Filter = (values) => `exists (select 1 from json_each(r.tags) t where t.value in ${values})`;

/** Equal to a path or nested under it; a trailing `/` does not count. */
export const underPath: Filter = (values) =>
  `exists (select 1 from (select rtrim(value, '/') as path from ${values}) p
    where r.path = p.path or substr(r.path, 1, length(p.path) + 1) = p.path || '/')`;
