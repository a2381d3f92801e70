import { FAILING } from '../../schema/data-tests.ts';
import type { Row } from '../core/stream.ts';
import { fromHeldRows, softDeletes } from '../page-data/live-rows.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';

export type RowsOf<Statements> = { readonly [Name in keyof Statements]: readonly Row[] };

/** The times that ages are computed from; they take next to no time to read. */
export const SYNC_TIMES = {
  lastSync: "select max(ended_at) as ended_at from sync_runs where status = 'done' and command = 'sync'",
  checkpoints: `select e.id as environment, c.stream, c.watermark, c.unavailable
    from environments e left join sync_checkpoints c on c.env_id = e.id where e.missing_since is null order by e.id`,
} as const;

export type SyncTimes = RowsOf<typeof SYNC_TIMES>;

/** Another state of the mirror returns another row. */
export const MIRROR_STATE = {
  state: `select (select max(mirrored_at) from mirror_environments) as mirrored_at,
    (select max(id) from sync_runs where status <> 'running') as run, (select quota_noted_at from mirror) as quota`,
} as const;

/** What a mirror's metrics are computed from, in SQL for every database. Counting a million rows takes a while. */
export const MEASUREMENTS = {
  ...SYNC_TIMES,
  // A run that was killed stays `running`: the ages show it.
  lastRun: `select status, ended_at, requests from sync_runs
    where command = 'sync' and status <> 'running' order by id desc limit 1`,
  quota: 'select quota_limit, quota_remaining from mirror',
  rows: eachStream(countLiveRows),
  held: eachStream(
    (entry) =>
      `select h.env_id as environment, h.stream, count(*) as number ${fromHeldRows(entry)} group by h.env_id, h.stream`,
  ),
  rejected: 'select env_id as environment, stream, count(*) as number from rejected_rows group by env_id, stream',
  failing: `select env_id as environment, status, count(*) as number from test_status
    where status in ${FAILING} group by env_id, status`,
  incidents: `select env_id as environment, count(*) as number from test_incidents
    where resolved_at is null and test_disabled is not true group by env_id`,
  scores: `${meanScores('asset_health_scores', "'total'")}
    union all ${meanScores('asset_health_score_dimensions', 's.dimension')}`,
} as const;

export type Measurements = RowsOf<typeof MEASUREMENTS>;

function eachStream(select: (entry: CatalogueEntry) => string): string {
  return CATALOGUE.map(select).join(' union all ');
}

/** SQL that counts the live rows of a stream, over all environments. */
function countLiveRows({ name, table, subtype }: CatalogueEntry): string {
  const ofKind = subtype === undefined ? '' : ` and ${subtype.field} = '${subtype.is}'`;
  const isLive = softDeletes(table) ? 'deleted_at is null' : 'true';
  return `select '${name}' as stream, count(*) as number from ${table} where ${isLive}${ofKind}`;
}

/** SQL for the mean of the scores of live assets, of listed environments. */
function meanScores(table: string, dimension: string): string {
  return `select s.env_id as environment, ${dimension} as dimension, avg(s.score) as score from ${table} s
    join environments e on e.id = s.env_id and e.missing_since is null
    left join assets a on a.env_id = s.env_id and a.id = s.asset_id
    where a.deleted_at is null group by 1, 2`;
}
