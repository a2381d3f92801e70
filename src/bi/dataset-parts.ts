import type { Dataset } from './dataset.ts';
import type { ColumnName } from './dataset-columns.ts';
import type { BiDialect } from './dialect.ts';

export const OWNER: Dataset['select'] = {
  owner: "coalesce(w.owner, 'no owner')",
  owner_count: 'coalesce(w.owner_count, 1)',
};

/** Joins `w`, a row for each owner of the test: its own or, without any, those of its asset. */
export const joinOwnersOfTest = (d: BiDialect, from: string): string => `
left join (
  select t.env_id, t.id as test_id, coalesce(o.owner, a.owner) as owner,
    count(*) over (partition by t.env_id, t.id) as owner_count
  from ${d.relation('live_tests')} t
  left join ${d.relation('test_owners')} o on o.env_id = t.env_id and o.test_id = t.id
  left join ${d.relation('asset_owners')} a on o.owner is null and a.env_id = t.env_id and a.asset_id = t.asset_id
) w on w.env_id = ${from}.env_id and w.test_id = ${from}.test_id`;

/** The same for rows of which PostgreSQL expects only one, so that it would find the owners of all tests for each. */
export function joinOwnersPerRow(d: BiDialect, from: string): string {
  if (d.name === 'sqlite') return joinOwnersOfTest(d, from);
  const ofTest = `from ${d.relation('test_owners')} o where o.env_id = ${from}.env_id and o.test_id = ${from}.test_id`;
  return `
left join lateral (
  select owner, count(*) over () as owner_count
  from (
    select o.owner ${ofTest}
    union all
    select a.owner from ${d.relation('asset_owners')} a
    where a.env_id = ${from}.env_id and a.asset_id = ${from}.asset_id and not exists (select 1 ${ofTest})
  ) e
) w on true`;
}

export const joinOwnersOfAsset = ({ relation }: BiDialect, from: string): string => `
left join (
  select env_id, asset_id, owner, count(*) over (partition by env_id, asset_id) as owner_count
  from ${relation('asset_owners')}
) w on w.env_id = ${from}.env_id and w.asset_id = ${from}.asset_id`;

export const joinAsset = ({ relation }: BiDialect, from: string): string => `
left join ${relation('live_assets')} a on a.env_id = ${from}.env_id and a.id = ${from}.asset_id`;

export const joinTest = ({ relation }: BiDialect, from: string): string => `
left join ${relation('live_tests')} t on t.env_id = ${from}.env_id and t.id = ${from}.test_id`;

export const ownersOf = (row: string): string => `coalesce(nullif(${row}.test_owners, ''), ${row}.asset_owners)`;

/** The page of a row's asset or, if nobody said where that is, the address of a BI asset `a`. */
export const linkOf =
  (row: string) =>
  ({ link, pageUrl }: BiDialect): string => {
    if (pageUrl === null) return link('a.url');
    const page = `${pageUrl.replace(/\/$/, '')}/#/asset?env=`.replaceAll("'", "''");
    return link(`'${page}' || ${row}.env_id || '&id=' || ${row}.asset_id`);
  };

export const schemaOf = (row: string): string => `coalesce(${row}.schema_name, 'no schema')`;

/** Columns by the names that they have in the view too. */
export function same(row: string, ...names: ColumnName[]): Dataset['select'] {
  return Object.fromEntries(names.map((name) => [name, `${row}.${name}`]));
}

/**
 * The first day whose runs the mirror has: of the first run that it read, or of the first sync if it never read the
 * history of a test. Grouping makes SQLite work it out once for each environment, not for each row that is joined.
 */
export const historySince = (d: BiDialect): string => `(
  select e.id as env_id, case
      when exists (select 1 from ${d.relation('test_readings')} g where g.env_id = e.id)
      then (select ${d.dayOf('min(x.start_time)')} from ${d.relation('test_executions')} x where x.env_id = e.id)
      else (select ${d.dayOf('min(s.started_at)')} from ${d.relation('sync_stream_runs')} s where s.env_id = e.id)
    end as history_since
  from ${d.relation('environments')} e
  group by e.id
)`;
