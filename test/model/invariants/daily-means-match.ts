import type { TestMirror } from '../test-mirror.ts';

/**
 * The stored daily means equal those of `health_daily`. Days may stay recorded as stale after a run that did not end
 * well, because a signal stops their renewal, and in an environment that is no longer listed, because no run holds it.
 */
export function dailyMeansMatch(mirrored: TestMirror): string[] {
  const [last] = mirrored.rows('select status from sync_runs order by id desc limit 1');
  const mayLeaveDays = last?.['status'] === 'done' ? ' where missing_since is not null' : '';
  return mirrored
    .rows(`select coalesce(k.env_id, v.env_id) env, coalesce(k.day, v.day) day, k.score kept, v.score shown
      from (select env_id, day, dimension, avg(score) score, count(*) n from health_daily group by 1, 2, 3) v
      full join asset_health_means k on k.env_id = v.env_id and k.day = v.day and k.dimension = v.dimension
      where (v.n is not k.asset_count or abs(v.score - k.score) > 1e-12)
        and (coalesce(k.env_id, v.env_id), coalesce(k.day, v.day)) not in (
          select s.env_id, s.day from stale_health_days s join environments e on e.id = s.env_id${mayLeaveDays})`)
    .map(({ env, day, kept, shown }) => `${env} has ${kept} on ${day}, and health_daily ${shown}`);
}
