import { pageAddress } from '../core/page-address.ts';
import type { Dataset } from './dataset.ts';
import type { ColumnName } from './dataset-columns.ts';
import type { BiDialect } from './dialect.ts';

const OWNER: Dataset['select'] = {
  owner: "coalesce(w.owner, 'no owner')",
  owner_count: 'coalesce(w.owner_count, 1)',
};

/** One tag of the test. */
export const TAG: Dataset['select'] = { tag: "coalesce(g.tag, 'no tag')", tag_count: 'coalesce(g.tag_count, 1)' };

/** Joins `g`, a row for each tag of the test. */
export const withTags = ({ relation }: BiDialect, from: string): string => `
left join (
  select env_id, test_id, tag, count(*) over (partition by env_id, test_id) as tag_count
  from ${relation('test_tags')}
) g on g.env_id = ${from}.env_id and g.test_id = ${from}.test_id`;

/** Joins `w`, a row for each owner of the test: its own or, without any, those of its asset. */
export const withOwnersOfTest = (d: BiDialect, from: string): string => `
left join (
  select t.env_id, t.id as test_id, coalesce(o.owner, a.owner) as owner,
    count(*) over (partition by t.env_id, t.id) as owner_count
  from ${d.relation('live_tests')} t
  left join ${d.relation('test_owners')} o on o.env_id = t.env_id and o.test_id = t.id
  left join ${d.relation('asset_owners')} a on o.owner is null and a.env_id = t.env_id and a.asset_id = t.asset_id
) w on w.env_id = ${from}.env_id and w.test_id = ${from}.test_id`;

/** Both where PostgreSQL expects a single row: it would otherwise compute those of all tests for each row. */
export function withOwnersAndTagsPerRow(d: BiDialect, from: string): string {
  if (d.name === 'sqlite') return `${withOwnersOfTest(d, from)}${withTags(d, from)}`;
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
) w on true
left join lateral (
  select tag, count(*) over () as tag_count
  from ${d.relation('test_tags')} where env_id = ${from}.env_id and test_id = ${from}.test_id
) g on true`;
}

export const withOwnersOfAsset = ({ relation }: BiDialect, from: string): string => `
left join (
  select env_id, asset_id, owner, count(*) over (partition by env_id, asset_id) as owner_count
  from ${relation('asset_owners')}
) w on w.env_id = ${from}.env_id and w.asset_id = ${from}.asset_id`;

export const withAsset = ({ relation }: BiDialect, from: string): string => `
left join ${relation('live_assets')} a on a.env_id = ${from}.env_id and a.id = ${from}.asset_id`;

export const withTest = ({ relation }: BiDialect, from: string): string => `
left join ${relation('live_tests')} t on t.env_id = ${from}.env_id and t.id = ${from}.test_id`;

/** Nothing of an environment that the service no longer lists is failing, open or stale now. */
export const whereListed = ({ relation }: BiDialect, row: string): string =>
  `${row}.env_id not in (select id from ${relation('environments')} where missing_since is not null)`;

/** In SQLite, the list of owners without a name is empty, not NULL. */
export const ownersOf = (...lists: string[]): string =>
  `coalesce(${lists.map((list) => `nullif(${list}, '')`).join(', ')}, 'no owner')`;

/** The page of a row's asset or, without `--page-url`, the address of a BI asset `a`. */
export const linkOf =
  (row: string) =>
  ({ link, pageUrl }: BiDialect): string => {
    if (pageUrl === null) return link('a.url');
    const page = `${pageAddress(pageUrl, 'asset')}?env=`.replaceAll("'", "''");
    return link(`'${page}' || ${encoded(`${row}.env_id`)} || '&id=' || ${encoded(`${row}.asset_id`)}`);
  };

/** An id in a URL. */
const encoded = (id: string): string =>
  [
    ['%', '%25'],
    ['&', '%26'],
    ['+', '%2B'],
    ['#', '%23'],
  ].reduce((sql, [from, to]) => `replace(${sql}, '${from}', '${to}')`, id);

/** What a row belongs to: its environment, one owner, and the schema of its asset. */
export const scopeOf = (row: string, asset: string): Dataset['select'] => ({
  ...same(row, 'env_name'),
  ...OWNER,
  schema_name: `coalesce(${asset}.schema_name, 'no schema')`,
});

/** Columns by the names that they have in the view too. */
export function same(row: string, ...names: ColumnName[]): Dataset['select'] {
  return Object.fromEntries(names.map((name) => [name, `${row}.${name}`]));
}

/**
 * The first day whose runs the mirror has: that of the first run of a history, or of the first sync if it has read
 * none. A test with one run has no history: that run may be its latest, however old. After a pruning, what is left
 * before it are single runs (R17). Grouping makes SQLite work it out once per environment, not per joined row.
 */
export const historySince = (d: BiDialect): string => `(
  select b.env_id, ${d.dayOf('max(case when p.pruned_before > b.begun then p.pruned_before else b.begun end)')} as history_since
  from (
    select e.id as env_id, coalesce(
      case when exists (select 1 from ${d.relation('test_readings')} g where g.env_id = e.id) then f.first_start end,
      (select min(x.mirrored_at) from ${d.relation('test_executions')} x where x.env_id = e.id)) as begun
    from ${d.relation('environments')} e
    left join (
      select env_id, min(first_start) as first_start
      from (
        select env_id, min(start_time) as first_start from ${d.relation('test_executions')}
        group by env_id, test_id having count(*) > 1
      ) t
      group by env_id
    ) f on f.env_id = e.id
  ) b
  left join ${prunedRuns(d)} p on p.env_id = b.env_id
  group by b.env_id
)`;

const prunedRuns = ({ relation }: BiDialect): string => `(
    select env_id, coalesce(pruning_before, complete_before) as pruned_before
    from ${relation('pruned_history')} where history = 'test_executions'
  )`;

/**
 * The day of the newest score before the first read; soon after midnight, that may be the day before. A dimension
 * without newer results keeps its last score, so the first read also has some of days of which the mirror knows nothing
 * else. If all are later than the mirror's clock, it is the day of the read.
 */
export const scoresSince = (d: BiDialect): string => `(
  select h.env_id, ${d.dayOf('coalesce(max(case when h.bucket_at <= f.read_at then h.bucket_at end), min(f.read_at))')}
    as scores_since
  from ${d.relation('asset_health_score_history')} h
  join (
    select env_id, min(mirrored_at) as read_at from ${d.relation('asset_health_score_history')} group by env_id
  ) f on f.env_id = h.env_id
  group by h.env_id
)`;

/** Whether the mirror knows when an incident began: from an earlier run, or because a pruning kept its first one. */
export const whereBeginKnown = (d: BiDialect): string => `(exists (
    select 1 from ${d.relation('test_executions')} e
    where e.env_id = i.env_id and e.test_id = i.test_id and e.sub_test_unique_id = i.sub_test_unique_id
      and e.start_time < i.first_start_time)
    or exists (select 1 from ${prunedRuns(d)} p where p.env_id = i.env_id and i.first_start_time < p.pruned_before))`;

/** When a run first read the environment `e`, as far as runs are kept: the age of one never read to its end. */
export const firstRead = ({ relation }: BiDialect): string =>
  `(select min(s.started_at) from ${relation('sync_stream_runs')} s where s.env_id = e.id)`;
