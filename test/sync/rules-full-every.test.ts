import { expect, test } from 'vitest';
import { putAsset, putAssetEdge, putScore, putTest } from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { HOUR } from '../model/world.ts';
import { FEED_STREAMS, LEAST_REQUESTS, SCANNED_STREAMS } from '../support/catalogue.ts';
import { expectMirrored, liveIds, newScene, type Scene } from '../support/scene.ts';

const MINUTE = 60;
const AUTO = { fullEveryDays: 'auto', pageSize: 1 } as const;

/** Advances the world to this minute of the next clock hour. */
function advanceToMinute({ world }: Scene, minute: number): void {
  world.advance(HOUR - ((world.nowMs / 1000) % HOUR) + minute * MINUTE);
}

test('under --full-every auto, a stream is scanned again ten minutes per page after its last scan, but not within an hour (R13)', async () => {
  const { mirrored, world } = newScene();
  await mirrored.sync(AUTO);
  const pages = Object.fromEntries(SCANNED_STREAMS.map((name) => [name, mirrored.checkpoint(name).scanPages]));
  expect(pages).toMatchObject({ assets: 5, columns: 9 });
  const scanned = async (): Promise<unknown[]> => {
    const { streams } = await mirrored.sync(AUTO);
    return streams.filter(({ mode }) => mode === 'scan').map(({ stream }) => stream);
  };
  world.advance(59 * MINUTE);
  expect(await scanned()).toEqual([]);
  world.advance(MINUTE);
  expect(await scanned()).toEqual(SCANNED_STREAMS.filter((name) => Number(pages[name]) <= 6));
  world.advance(29 * MINUTE);
  expect(await scanned()).not.toContain('columns');
  world.advance(MINUTE);
  expect(await scanned()).toContain('columns');
});

test('within the hour after a scan, an idle sync under --full-every auto sends what it would send with any number of days (R22)', async () => {
  const { mirrored, world } = newScene();
  await mirrored.sync({ fullEveryDays: 'auto' });
  world.advance(50 * MINUTE);
  await mirrored.sync({ fullEveryDays: 'auto' });
  const paths = mirrored.requests().map(({ path }) => path);
  expect(paths.filter((path) => !path.endsWith('health-scores')).sort()).toEqual(
    LEAST_REQUESTS.map((path) => `e1/${path}`).sort(),
  );
});

test('an asset out of sight takes with it, in the run whose scan finds it, its columns, tests, edges, executions and scores (R13)', async () => {
  const scene = newScene((env) => {
    furnish(env);
    for (const id of ['t5', 't6', 't7']) putTest(env, id, 'a2');
    putScore(env, 'a3', 0.25);
  });
  const { mirrored, env } = scene;
  advanceToMinute(scene, 30);
  await mirrored.sync(AUTO);
  advanceToMinute(scene, 5);
  await mirrored.sync(AUTO);
  env.hidden.add('a1');
  env.hidden.add('a3');
  scene.world.advance(26 * MINUTE);
  const summary = await mirrored.sync(AUTO);
  expect(summary.status).toBe('done');
  expect(streamSummary(summary, 'assets')).toMatchObject({ mode: 'scan', reason: 'full-every' });
  for (const name of ['columns', 'tests'] as const) expect(streamSummary(summary, name).mode).toBe('feed');
  // The scores of this hour were read before (R22).
  expect(streamSummary(summary, 'asset_health_scores').requests).toBe(0);
  expectMirrored(scene);
  for (const table of FEED_STREAMS) expect(liveIds(scene, table)).not.toContain('a1');
});

test('when most edges of assets are out of sight, their removal is held back, and the message says what to do (R14)', async () => {
  const { mirrored, env, world } = newScene((env) => {
    furnish(env);
    putAsset(env, 'hub');
    for (let n = 0; n < 60; n++) {
      putAsset(env, `spoke${n}`);
      putAssetEdge(env, 'hub', `spoke${n}`);
    }
  });
  await mirrored.sync({ fullEveryDays: 'auto' });
  env.hidden.add('hub');
  world.advance(2 * HOUR);
  const lineage = streamSummary(await mirrored.sync({ fullEveryDays: 'auto' }), 'asset_lineage');
  expect(lineage).toMatchObject({ status: 'held', rows_held: 60 });
  expect(lineage.error).toContain('because the token may see fewer assets now, apply them with --allow-shrink');
  expect((await mirrored.sync({ fullEveryDays: 'auto', allowShrink: true })).status).toBe('done');
  expectMirrored({ mirrored, env, world });
});
