import { parentsOf, type Stream } from '../core/stream.ts';
import type { EndpointFilter, EndpointFilters } from '../streams/endpoint.ts';
import { joinOf, selectParentRow } from './related-rows.ts';

/** An array filter as SQL. `values` is a subquery with the parameter's values, `r` the row, `@env` the environment. */
export interface ArrayFilter {
  readonly matches: (values: string) => string;
  readonly describe: string;
  /** The same condition as disjoint branches. An index answers the first condition of each branch. */
  readonly branches?: (values: string) => readonly (readonly string[])[];
  /** The rows of another table through which the index finds the row. */
  readonly through?: (values: string) => string;
}

export type ArrayFilters = Readonly<Record<string, ArrayFilter>>;

/** The part before the last `/`. */
const parentOf = (path: string): string => `substr(${path}, 1, length(rtrim(${path}, replace(${path}, '/', ''))) - 1)`;

/** The condition that `path` is one of the values or nested under one. It looks up the row's few ancestors. */
export const whereUnderPath = (path: string, values: string): string =>
  `exists (with recursive ancestors(path) as (select ${path}
      union all select ${parentOf('path')} from ancestors where instr(path, '/'))
    select 1 from ancestors where path in (select rtrim(value, '/') from ${values}))`;

type FilteredStream = Omit<Stream, 'marks'>;

export function arrayFiltersOf(filters: EndpointFilters, stream: FilteredStream): ArrayFilters {
  const named = Object.entries(filters);
  return Object.fromEntries(
    named.map(([name, filter]) => [name, { describe: filter.describe, ...filterSql(filter, stream) }]),
  );
}

type FilterSql = Omit<ArrayFilter, 'describe'>;

function filterSql(filter: EndpointFilter, stream: FilteredStream): FilterSql {
  switch (filter.by) {
    case 'field':
      return byField(`r.${filter.field}`, filter.indexed);
    case 'ends':
      return byEnds(filter.fields);
    case 'parent':
      return byParent(filter, stream);
    case 'tags':
      return { matches: (values) => `exists (select 1 from json_each(r.tags) t where t.value in ${values})` };
    case 'path':
      return { matches: (values) => whereUnderPath('r.path', values) };
  }
}

function byField(column: string, indexed: boolean): FilterSql {
  const matches: ArrayFilter['matches'] = (values) => `${column} in ${values}`;
  return indexed ? { matches, branches: (values) => [[matches(values)]] } : { matches };
}

const byEnds = ([from, to]: readonly [string, string]): FilterSql => ({
  matches: (values) => `(r.${from} in ${values} or r.${to} in ${values})`,
  branches: (values) => [[`r.${from} in ${values}`], [`r.${to} in ${values}`, `r.${from} not in ${values}`]],
});

function byParent({ field, indexed }: Extract<EndpointFilter, { field: string }>, stream: FilteredStream): FilterSql {
  const [parent] = parentsOf(stream);
  const matches: ArrayFilter['matches'] = joinOf(stream)
    ? (values) => `c.${field} in ${values}`
    : (values) => `exists ${selectParentRow(stream, `p.${field} in ${values}`)}`;
  if (!indexed || parent === undefined) return { matches };
  const through: ArrayFilter['through'] = (values) =>
    `select o.id from ${parent.table} o where o.env_id = @env and o.${field} in ${values}`;
  return { matches, branches: (values) => [[`r.${parent.by} in (${through(values)})`]], through };
}
