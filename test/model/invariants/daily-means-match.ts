import type { TestMirror } from '../test-mirror.ts';

/**
 * The stored daily means equal those of `health_daily`. A run that did not end well may leave days recorded as stale: a
 * signal stops their renewal.
 */
export function dailyMeansMatch(mirrored: TestMirror): string[] {
  const [last] = mirrored.rows('select status from sync_runs order by id desc limit 1');
  const mayLeaveDays = last?.['status'] === 'done' ? 'false' : 'true';
  return mirrored
    .rows(`select coalesce(k.env_id, v.env_id) env, coalesce(k.day, v.day) day, k.score kept, v.score shown
      from (select env_id, day, dimension, avg(score) score, count(*) n from health_daily group by 1, 2, 3) v
      full join asset_health_means k on k.env_id = v.env_id and k.day = v.day and k.dimension = v.dimension
      where (v.n is not k.asset_count or abs(v.score - k.score) > 1e-12)
        and not (${mayLeaveDays} and (coalesce(k.env_id, v.env_id), coalesce(k.day, v.day)) in (
          select env_id, day from stale_health_days))`)
    .map(({ env, day, kept, shown }) => `${env} has ${kept} on ${day}, and health_daily ${shown}`);
}
