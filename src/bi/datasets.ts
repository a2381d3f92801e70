import { DIMENSIONS } from '../../schema/health.ts';
import type { Dataset } from './dataset.ts';
import { STATUS_COLORS } from './dataset-columns.ts';
import {
  firstRead,
  historySince,
  linkOf,
  ownersOf,
  same,
  scopeOf,
  scoresSince,
  TAG,
  whereBeginKnown,
  whereListed,
  withAsset,
  withOwnersAndTagsPerRow,
  withOwnersOfAsset,
  withOwnersOfTest,
  withTags,
  withTest,
} from './dataset-parts.ts';

const STATUSES = Object.keys(STATUS_COLORS);

const countOf = (statuses: string): string => `sum(case when status ${statuses} then 1 else 0 end)`;

export const SCORES = ['total', ...DIMENSIONS] as const;

/** Every dataset by its id. An id never changes: Superset finds a dataset by it. */
const DEFINED = {
  failing_tests: {
    title: 'Failing tests',
    description: 'Sub-tests of enabled tests whose latest result is WARN, FAIL or ERROR.',
    time: 'start_time',
    select: {
      ...scopeOf('f', 'a'),
      ...TAG,
      ...same('f', 'asset_name', 'test_name', 'test_type', 'column_name', 'severity', 'status', 'failure_count'),
      reason: 'coalesce(f.exception, f.result_reason)',
      ...same('f', 'start_time'),
      owners: ownersOf('f.test_owners', 'f.asset_owners'),
      ...same('t', 'tags'),
      url: linkOf('f'),
      ...same('f', 'env_id', 'asset_id', 'test_id', 'sub_test_unique_id'),
      row_key: "f.env_id || '/' || f.sub_test_unique_id",
    },
    from: (
      d,
    ) => `${d.relation('failing_tests')} f${withTest(d, 'f')}${withAsset(d, 'f')}${withOwnersOfTest(d, 'f')}${withTags(d, 'f')}
where ${whereListed(d, 'f')}`,
  },
  failing_test_impact: {
    title: 'Impact of failing tests',
    description: 'Sub-tests that are failing or warning, with each asset downstream of theirs.',
    time: 'start_time',
    select: {
      ...scopeOf('f', 'a'),
      ...TAG,
      ...same('f', 'asset_name', 'test_name', 'test_type', 'column_name', 'severity', 'status', 'start_time'),
      ...same('f', 'downstream_name', 'downstream_kind', 'downstream_asset_id'),
      ...same('f', 'env_id', 'asset_id', 'test_id', 'sub_test_unique_id'),
      row_key: "f.env_id || '/' || f.sub_test_unique_id",
    },
    from: (d) =>
      `${d.relation('failing_test_impact')} f${withAsset(d, 'f')}${withOwnersOfTest(d, 'f')}${withTags(d, 'f')}
where ${whereListed(d, 'f')}`,
  },
  /**
   * The runs per test and day. Without `--history`, the mirror has the latest run of each test from the first sync on,
   * so earlier days would show a trend that isn't one. An inner join would make PostgreSQL expect few rows, and compare
   * each with all owners.
   */
  test_runs: {
    title: 'Test runs by day',
    description:
      'Runs per test and UTC day, from the first day of history on. Runs of a deleted test have no owner or tag.',
    time: 'day',
    view: 'test_runs_daily',
    select: {
      ...scopeOf('t', 'a'),
      ...TAG,
      env_name: 'v.name',
      ...same('t', 'asset_name'),
      test_name: 't.name',
      ...same('t', 'test_type', 'severity', 'tags'),
      ...same('r', 'day', 'run_count', 'pass_count', 'warn_count', 'fail_count', 'error_count', 'other_count'),
      ...same('r', 'env_id'),
      ...same('t', 'asset_id'),
      ...same('r', 'test_id'),
    },
    from: (d) => `(
  select env_id, test_id, ${d.dayOf('start_time')} as day, count(*) as run_count,
    ${STATUSES.map((status) => `${countOf(`= '${status}'`)} as ${status.toLowerCase()}_count`).join(', ')},
    ${countOf(`not in (${STATUSES.map((status) => `'${status}'`).join(', ')})`)} as other_count
  from ${d.relation('test_executions')}
  group by env_id, test_id, ${d.dayOf('start_time')}
) r
left join ${historySince(d)} h on h.env_id = r.env_id
left join ${d.relation('environments')} v on v.id = r.env_id${withTest(d, 'r')}${withAsset(d, 't')}${withOwnersOfTest(d, 'r')}${withTags(d, 'r')}
where coalesce(r.day >= h.history_since, false)`,
  },
  test_incidents: {
    title: 'Incidents',
    description: 'Stretches of runs of a sub-test that warned or failed, from the first such run to the next PASS.',
    time: 'last_start_time',
    select: {
      ...scopeOf('i', 'a'),
      ...TAG,
      ...same('i', 'asset_name', 'test_name'),
      ...same('t', 'test_type'),
      ...same('i', 'column_name'),
      ...same('t', 'severity'),
      ...same('i', 'worst_status'),
      status: 'i.last_status',
      ...same('i', 'first_start_time', 'last_start_time', 'resolved_at'),
      hours_open: (d) =>
        `case when i.resolved_at is null and ${whereBeginKnown(d)} then ${d.hoursSince('i.first_start_time')} end`,
      hours_to_resolve: (d) => `case when ${whereBeginKnown(d)} then i.hours_to_resolve end`,
      ...same('i', 'run_count', 'test_disabled'),
      is_open: (d) => `(i.resolved_at is null and i.test_disabled is not true and ${whereListed(d, 'i')})`,
      is_begin_known: whereBeginKnown,
      owners: ownersOf('i.test_owners', 'i.asset_owners'),
      ...same('t', 'tags'),
      url: linkOf('i'),
      ...same('i', 'env_id', 'asset_id', 'test_id', 'sub_test_unique_id'),
      row_key: "i.env_id || '/' || i.sub_test_unique_id || '/' || cast(i.first_start_time as text)",
    },
    from: (d) =>
      `${d.relation('test_incidents')} i${withTest(d, 'i')}${withAsset(d, 'i')}${withOwnersAndTagsPerRow(d, 'i')}`,
  },
  test_coverage: {
    title: 'Coverage of tables',
    description: 'Live tables with how many of their columns are tested, and how many assets read from them.',
    select: {
      ...scopeOf('c', 'c'),
      ...same('c', 'asset_name', 'table_name', 'test_count', 'column_count', 'tested_column_count'),
      readers: 'c.direct_downstream_count',
      owners: ownersOf('c.owners'),
      ...same('c', 'env_id', 'asset_id'),
      row_key: "c.env_id || '/' || c.asset_id",
    },
    from: (d) => `${d.relation('coverage_by_impact')} c${withOwnersOfAsset(d, 'c')}
where ${whereListed(d, 'c')}`,
  },
  stale_assets: {
    title: 'Stale assets',
    description: 'Live assets that were not updated for 30 days.',
    select: {
      ...scopeOf('s', 's'),
      ...same('s', 'asset_name'),
      asset_kind: 's.kind',
      ...same('s', 'updated_at', 'days_since_update', 'env_id', 'asset_id'),
      owners: ownersOf('s.owners'),
      row_key: "s.env_id || '/' || s.asset_id",
    },
    from: (d) => `${d.relation('stale_assets')} s${withOwnersOfAsset(d, 's')}
where ${whereListed(d, 's')}`,
  },
  asset_health: {
    title: 'Health of assets',
    description: 'The latest score of each live asset, in all dimensions.',
    select: {
      ...scopeOf('h', 'a'),
      ...same('h', 'asset_name', ...SCORES, 'test_count'),
      owners: ownersOf('a.owners'),
      ...same('a', 'tags'),
      url: linkOf('h'),
      ...same('h', 'env_id', 'asset_id'),
      row_key: "h.env_id || '/' || h.asset_id",
    },
    from: (d) => `${d.relation('asset_health')} h${withAsset(d, 'h')}${withOwnersOfAsset(d, 'h')}
where ${whereListed(d, 'h')}`,
  },
  health_daily: {
    title: 'Health by day',
    description: 'The last score of each day, per asset and dimension, from the newest score before the first read on.',
    time: 'day',
    select: {
      ...scopeOf('h', 'a'),
      ...same('h', 'asset_name', 'dimension', 'day', 'score', 'test_count', 'env_id', 'asset_id'),
    },
    from: (d) => `${d.relation('health_daily')} h
join ${scoresSince(d)} s on s.env_id = h.env_id and s.scores_since <= h.day${withAsset(d, 'h')}${withOwnersOfAsset(d, 'h')}`,
  },
  owners: {
    title: 'Owners',
    description: 'Everyone who owns an asset or a test.',
    select: same('o', 'env_name', 'owner'),
    from: ({ relation }) => `(
  select env_name, owner from ${relation('asset_owners')}
  union select env_name, owner from ${relation('test_owners')}
  union select name, 'no owner' from ${relation('environments')}
) o`,
  },
  schemas: {
    title: 'Schemas',
    description: 'Every schema that an asset is in.',
    select: same('s', 'env_name', 'schema_name'),
    from: ({ relation }) => `(
  select env_name, coalesce(schema_name, 'no schema') as schema_name from ${relation('live_assets')}
  union select name, 'no schema' from ${relation('environments')}
) s`,
  },
  tags: {
    title: 'Tags',
    description: 'Every tag of a test.',
    select: same('g', 'env_name', 'tag'),
    from: ({ relation }) => `(
  select env_name, tag from ${relation('test_tags')}
  union select name, 'no tag' from ${relation('environments')}
) g`,
  },
  environments: {
    title: 'Environments',
    description: 'Up to when each environment is mirrored, and since when there is history.',
    select: {
      env_name: 'e.name',
      ...same('f', 'complete_at'),
      hours_since_sync: (d) =>
        `case when f.env_id is not null then ${d.hoursSince(`coalesce(f.complete_at, ${firstRead(d)})`)} end`,
      ...same('h', 'history_since'),
      ...same('e', 'last_synced_at', 'last_sync_status', 'missing_since'),
      env_id: 'e.id',
    },
    from: (d) => `${d.relation('environments')} e
left join ${d.relation('environment_freshness')} f on f.env_id = e.id
join ${historySince(d)} h on h.env_id = e.id`,
  },
  streams: {
    title: 'Streams',
    description: 'The last result of each stream.',
    select: {
      env_name: 'e.name',
      is_done: "cast(case when s.status = 'done' then 1 else 0 end as bigint)",
      ...same('s', 'stream', 'status', 'mode', 'ended_at', 'rows_rejected', 'reason', 'error'),
    },
    from: (d) => `${d.relation('sync_stream_runs')} s
join ${d.relation('environments')} e on e.id = s.env_id
join (
  select env_id, stream, max(run_id) as run_id from ${d.relation('sync_stream_runs')} group by env_id, stream
) l on l.env_id = s.env_id and l.stream = s.stream and l.run_id = s.run_id
where e.missing_since is null`,
  },
  runs: {
    title: 'Runs',
    description: 'How syncs and repairs ended, and what they wrote.',
    time: 'started_at',
    select: same(
      'r',
      ...(['started_at', 'ended_at', 'command', 'status', 'requests'] as const),
      ...(['rows_written', 'rows_deleted', 'rows_rejected', 'error'] as const),
    ),
    from: (d) => `${d.relation('sync_runs')} r`,
  },
  rejected_rows: {
    title: 'Rejected rows',
    description: 'Objects of the service that could not be mirrored.',
    time: 'seen_at',
    select: { env_name: 'e.name', ...same('r', 'stream', 'row_key', 'reason', 'seen_at') },
    from: (d) => `${d.relation('rejected_rows')} r
left join ${d.relation('environments')} e on e.id = r.env_id
where e.missing_since is null`,
  },
} satisfies Readonly<Record<string, Dataset>>;

export type DatasetId = keyof typeof DEFINED;

export const DATASETS: Readonly<Record<DatasetId, Dataset>> = DEFINED;
