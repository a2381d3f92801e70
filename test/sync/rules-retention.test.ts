import { expect, test } from 'vitest';
import { putScore } from '../model/environment.ts';
import { SHORTEST_RETENTION } from '../model/retention.ts';
import { RUN_OPTIONS } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { type Scene, syncedScene } from '../support/scene.ts';

const KEEP_ALL = { thinScoresDays: null, keepScoresDays: null, keepExecutionsDays: null, keepRunsDays: null };

/** Scores of a day, hour by hour, one sync each. */
async function syncHourly({ world, env, mirrored }: Scene, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    world.advance(HOUR);
    putScore(env, 'a1', hour / 100);
    await mirrored.sync({ only: ['asset_health_scores'] });
  }
}

const bucketsPerDay = ({ mirrored }: Scene): unknown[] =>
  mirrored
    .rows(`select substr(bucket_at, 1, 10) as day, count(*) as count, max(score) as last
      from asset_health_score_history where asset_id = 'a1' and dimension = 'total' group by 1 order by 1`)
    .map(({ day, count, last }) => [day, count, last]);

test('by default, scores older than 90 days are thinned to the last one of each day at the end of a run (R17)', async () => {
  const scene = await syncedScene();
  await syncHourly(scene, 30);
  const before = bucketsPerDay(scene);
  expect(before[1]).toEqual(['2026-11-21', 13, 0.29]);
  scene.world.advance(89 * DAY);
  await scene.mirrored.sync();
  expect(bucketsPerDay(scene).slice(0, 2)).toEqual(before.slice(0, 2));
  scene.world.advance(2 * DAY);
  await scene.mirrored.sync();
  expect(bucketsPerDay(scene)[1]).toEqual(['2026-11-21', 1, 0.29]);
});

test('with every retention option off, no row of a history or of the run log is removed (R17)', async () => {
  const scene = await syncedScene();
  await syncHourly(scene, 3);
  const tables = ['test_executions', 'asset_health_score_history', 'sync_runs'];
  const counts = () => tables.map((table) => scene.mirrored.rows(`select count(*) as n from ${table}`)[0]?.['n']);
  const before = counts();
  scene.world.advance(400 * DAY);
  await scene.mirrored.sync({ only: ['assets'], retention: KEEP_ALL });
  expect(counts()).toEqual([before[0], before[1], Number(before[2]) + 1]);
});

test('runs older than --keep-runs leave the run log (R17)', async () => {
  const scene = await syncedScene();
  scene.world.advance(8 * DAY);
  await scene.mirrored.sync({ retention: SHORTEST_RETENTION });
  expect(scene.mirrored.rows('select id from sync_runs')).toEqual([{ id: 2 }]);
});

test('a time of the service that is far ahead removes no runs (R1)', async () => {
  const { mirrored, world } = await syncedScene();
  world.advance(200 * DAY);
  mirrored.clockSkewMs = -200 * DAY * 1000;
  await mirrored.sync({ retention: SHORTEST_RETENTION });
  expect(mirrored.rows('select id from sync_runs')).toEqual([{ id: 1 }, { id: 2 }]);
});

test('a run that received no time of the server prunes nothing (R1)', async () => {
  const scene = await syncedScene();
  scene.world.advance(400 * DAY);
  scene.world.dates = 'never';
  await scene.mirrored.sync({ retention: { ...RUN_OPTIONS.retention, keepExecutionsDays: 90 } });
  expect(scene.mirrored.rows('select * from pruned_history where row_count > 0')).toEqual([]);
});
