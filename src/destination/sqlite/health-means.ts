import type { Database } from 'better-sqlite3';

/**
 * Keeps the mean scores of the days that the current scores are of, as `health_daily` has them: of a day whose scores have changed since, and
 * of one that a deleted asset had a score on. An earlier day stays as it was kept last: to make every day of every deleted asset anew would
 * take longer than most runs.
 */
export function keepHealthMeans(connection: Database): void {
  const changed = connection.prepare<[], ChangedEnvironment>(CHANGED).all();
  const daysOf = connection.prepare<[ChangedEnvironment], string>(CHANGED_DAYS).pluck();
  const [forget, keep] = [connection.prepare(FORGET), connection.prepare(KEEP)];
  // All days in one transaction: a day that is kept says that the others of this change are.
  const keepDays = connection.transaction((environment: ChangedEnvironment) => {
    const { env_id, scores_at } = environment;
    for (const day of daysOf.all(environment)) {
      forget.run({ env_id, day });
      keep.run({ env_id, day, scores_at });
    }
  });
  for (const environment of changed) keepDays(environment);
}

interface ChangedEnvironment {
  readonly env_id: string;
  /** The newest change of a score, or deletion of an asset. */
  readonly scores_at: string;
  /** The same, of the last time that a day was kept. */
  readonly kept_at: string;
}

const CHANGED = `select * from (
    select s.env_id, max(
        max(s.mirrored_at),
        coalesce((select max(a.mirrored_at) from assets a where a.env_id = s.env_id and a.deleted_at is not null), '')
      ) as scores_at,
      coalesce((select max(m.scores_at) from asset_health_means m where m.env_id = s.env_id), '') as kept_at
    from asset_health_scores s group by s.env_id
  ) where scores_at > kept_at`;

const CHANGED_DAYS = `select day from (
    select substr(bucket_at, 1, 10) as day, max(mirrored_at) as changed_at from asset_health_scores
    where env_id = @env_id group by 1
  ) d where changed_at > @kept_at or exists (
    select 1 from assets a join asset_health_score_history h on h.env_id = @env_id and h.asset_id = a.id
      and h.dimension = 'total' and h.bucket_at >= d.day and h.bucket_at < d.day || '~'
    where a.env_id = @env_id and a.deleted_at is not null and a.mirrored_at > @kept_at
  )`;

const FORGET = 'delete from asset_health_means where env_id = @env_id and day = @day';

/** Goes from one asset and dimension of the history to the next, and looks up the last bucket of the day: the history holds many buckets of each. */
const KEEP = `insert into asset_health_means (env_id, day, dimension, score, asset_count, scores_at)
  with recursive scored(asset_id, dimension) as (
    select * from (select asset_id, dimension from asset_health_score_history where env_id = @env_id
      order by asset_id, dimension limit 1)
    union all
    select n.asset_id, n.dimension from scored s join asset_health_score_history n on n.rowid = coalesce(
      (select rowid from asset_health_score_history
        where env_id = @env_id and asset_id = s.asset_id and dimension > s.dimension order by dimension limit 1),
      (select rowid from asset_health_score_history
        where env_id = @env_id and asset_id > s.asset_id order by asset_id, dimension limit 1))
  )
  select @env_id, @day, s.dimension, avg(h.score), count(*), @scores_at
  from scored s
  join asset_health_score_history h on h.rowid = (
    select rowid from asset_health_score_history where env_id = @env_id and asset_id = s.asset_id
      and dimension = s.dimension and bucket_at >= @day and bucket_at < @day || '~'
    order by bucket_at desc limit 1)
  left join assets a on a.env_id = @env_id and a.id = s.asset_id
  where a.deleted_at is null
  group by s.dimension`;
