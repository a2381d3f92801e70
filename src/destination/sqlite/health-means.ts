import type { Database } from 'better-sqlite3';

/**
 * Keeps the mean scores of the last day that has scores, in each environment whose scores have changed since. An earlier day stays as it was
 * kept last: its last hourly buckets are in no list of the service any more.
 */
export function keepHealthMeans(connection: Database): void {
  const changed = connection.prepare<[], { env_id: string; scores_at: string }>(CHANGED).all();
  const keep = connection.prepare(KEEP);
  for (const environment of changed) keep.run(environment);
}

const CHANGED = `select s.env_id, max(s.mirrored_at) as scores_at from asset_health_scores s group by s.env_id
  having scores_at > coalesce((select max(m.scores_at) from asset_health_means m where m.env_id = s.env_id), '')`;

const KEEP = `insert into asset_health_means (env_id, day, dimension, score, asset_count, scores_at)
  select @env_id, s.day, s.dimension, avg(s.score), count(*), @scores_at
  from (
    select asset_id, 'total' as dimension, substr(bucket_at, 1, 10) as day, score from asset_health_scores
    where env_id = @env_id
    union all
    select asset_id, dimension, substr(bucket_at, 1, 10), score from asset_health_score_dimensions where env_id = @env_id
  ) s left join assets a on a.env_id = @env_id and a.id = s.asset_id
  where a.deleted_at is null
    and s.day = (select max(substr(bucket_at, 1, 10)) from asset_health_scores where env_id = @env_id)
  group by s.dimension
  on conflict (env_id, day, dimension) do update
    set score = excluded.score, asset_count = excluded.asset_count, scores_at = excluded.scores_at`;
