import { assetHealthMeans, staleHealthDays } from '../../../schema/page.ts';
import type { Row } from '../../core/stream.ts';
import { execute, type MirrorScope, rows, type SqlStatements, value } from './statements.ts';
import { tableSqlOf } from './tables.ts';

/*
 * `asset_health_means` holds, for each day, what `health_daily` returns. A commit that changes a day's scores records
 * the day in `stale_health_days` in the same transaction, and the end of a run computes the stale days again.
 */

/** Records the days of scores that are written as stale; `scoredAt` is the field with a score's time. */
export function* noteScores({ envId }: MirrorScope, scores: readonly Row[], scoredAt: string): SqlStatements<void> {
  const days = new Set(scores.map((score) => String(score[scoredAt]).slice(0, '2026-11-20'.length)));
  const stale = [...days].map((day) => ({ day }));
  const table = tableSqlOf(staleHealthDays);
  if (stale.length > 0) yield { table, rows: stale, same: { env_id: envId }, conflict: 'ignore', isUnanswered: true };
}

/** Records the days with scores of a deleted or restored asset as stale; for one asset, so databases use the index. */
export function* noteScoresOf(scope: MirrorScope, assetId: unknown): SqlStatements<void> {
  const sql = `insert into stale_health_days (env_id, day)
    select distinct h.env_id, ${scope.dialect.day('h.bucket_at')} from asset_health_score_history h
    where h.env_id = @env and h.asset_id = @assetId
    on conflict do nothing`;
  yield* execute(scope, sql, { assetId });
}

/** Computes the means of the newest stale day. Returns how many scores it read; null if no day is stale. */
export function* renewDay(scope: MirrorScope): SqlStatements<number | null> {
  const day = (yield* value(scope, 'select max(day) from stale_health_days where env_id = @env')) as string | null;
  if (day === null) return null;
  const found = yield* rows(scope, MEANS, { from: `${day}T00:00:00.000000Z`, to: `${day}T23:59:59.999999Z` });
  yield* execute(scope, 'delete from asset_health_means where env_id = @env and day = @day', { day });
  const scoresAt = yield* value(scope, 'select mirrored_at from mirror_environments where env_id = @env');
  const means = found.filter((mean) => mean['score'] !== null).map(({ looked_up: _, ...mean }) => mean);
  const same = { env_id: scope.envId, day, scores_at: String(scoresAt) };
  if (means.length > 0)
    yield { table: tableSqlOf(assetHealthMeans), rows: means, same, conflict: 'append', isUnanswered: true };
  yield* execute(scope, 'delete from stale_health_days where env_id = @env and day = @day', { day });
  return found.reduce((sum, mean) => sum + Number(mean['looked_up']), 0);
}

/** The assets of a walk through the history: `h` is a score, `s` the asset before. Without bounds, all of them. */
interface SeriesBounds {
  /** A further condition on the first asset. */
  readonly first?: string;
  /** The condition that another asset follows. */
  readonly next?: string;
  /** A further condition on each asset. */
  readonly only?: string;
}

/**
 * CTEs for the assets (`scored`) and for their dimensions (`series`, whose last row of each asset is NULL). The history
 * has many buckets per series, so they step from one to the next: one index lookup per step.
 */
export function withScoreSeries({ first = '', next = 's.asset_id is not null', only = '' }: SeriesBounds = {}): string {
  const least = (column: string, where: string): string =>
    `select min(h.${column}) from asset_health_score_history h where h.env_id = @env${where}`;
  return `with recursive scored (asset_id) as (
    ${least('asset_id', first)}
    union all
    select (${least('asset_id', ' and h.asset_id > s.asset_id')}) from scored s where ${next}
  ), series (asset_id, dimension) as (
    select s.asset_id, (${least('dimension', ' and h.asset_id = s.asset_id')})
    from scored s where s.asset_id is not null${only}
    union all
    select s.asset_id, (${least('dimension', ' and h.asset_id = s.asset_id and h.dimension > s.dimension')})
    from series s where s.dimension is not null
  )`;
}

/** The last score of the day of each series, of assets that are not deleted. */
const MEANS = `${withScoreSeries({
  only: ` and not exists (
      select 1 from assets a where a.env_id = @env and a.id = s.asset_id and a.deleted_at is not null)`,
})}
  select dimension, avg(score) as score, count(score) as asset_count, count(*) as looked_up from (
    select s.dimension, (
      select h.score from asset_health_score_history h where h.env_id = @env and h.asset_id = s.asset_id
        and h.dimension = s.dimension and h.bucket_at >= @from and h.bucket_at <= @to
      order by h.bucket_at desc limit 1) as score
    from series s where s.dimension is not null
  ) last group by dimension`;
