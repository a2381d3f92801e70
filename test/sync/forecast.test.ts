import { describe, expect, test } from 'vitest';
import { putAsset, putColumn, putColumnEdges, putTest, remove, removeAsset } from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { createTestMirror } from '../model/test-mirror.ts';
import { createWorld, DAY, HOUR } from '../model/world.ts';
import { SCANNED_STREAMS } from '../support/catalogue.ts';
import { expectForecastHolds, forecastNextDay, forecastNextRun } from '../support/forecasting.ts';
import { newScene, type Scene, syncedScene } from '../support/scene.ts';

/** Kills the process at the nth request of a run. */
async function killedAt({ world, mirrored }: Scene, nth: number, wish: Parameters<typeof mirrored.sync>[0] = {}) {
  world.beforeRequest = ({ number }) => {
    if (number >= nth) throw new Error('killed');
  };
  await expect(mirrored.sync(wish)).rejects.toThrow('killed');
  world.beforeRequest = () => {};
}

describe('a forecast', () => {
  test.each([
    { pageSize: 1, history: true },
    { pageSize: 2, history: false },
    { pageSize: 3, history: true },
    { pageSize: 2000, history: false },
  ])('it equals what a run sends: $pageSize rows per page, history: $history', async (wish) => {
    const scene = newScene();
    await scene.mirrored.sync(wish);
    for (const seconds of [60, 2 * HOUR, 8 * DAY, 100 * DAY]) {
      scene.world.advance(seconds);
      const { forecast } = await expectForecastHolds(scene, wish);
      expect(forecast.at_least).toBe(false);
    }
    await expectForecastHolds(scene, { ...wish, full: true });
  });

  test('with a budget, it begins with the same environment as the run (R6)', async () => {
    const world = createWorld(['e1', 'e2', 'e3']);
    for (const env of world.environments.values()) putAsset(env, 'a1');
    const mirrored = createTestMirror(world);
    await mirrored.sync();
    world.advance(2 * HOUR);
    await mirrored.sync({ environments: ['e1'] });
    world.advance(2 * HOUR);
    await expectForecastHolds({ world, mirrored }, { maxRequests: 8, concurrency: 1 });
    mirrored.close();
  });

  test('its day is what 24 hourly syncs of all environments send while nothing changes (R13, R22)', async () => {
    const world = createWorld(['e1', 'e2']);
    for (const place of world.environments.values()) furnish(place);
    const mirrored = createTestMirror(world);
    const wish = { pageSize: 2, fullEveryDays: 'auto' as const };
    await mirrored.sync(wish);
    world.advance(60);
    const scene = { world, mirrored };
    expect(await forecastNextDay(scene, { ...wish, fullEveryDays: 7 })).toMatchObject({ scan_requests: 0 });
    const day = await forecastNextDay(scene, wish);
    await mirrored.sync(wish);
    const sent = { syncs: 24, requests: 0, scan_requests: 0 };
    for (let hour = 1; hour <= 24; hour++) {
      world.advance(HOUR);
      const { requests, streams } = await mirrored.sync(wish);
      sent.requests += requests;
      for (const stream of streams) sent.scan_requests += stream.mode === 'scan' ? stream.requests : 0;
    }
    expect(day).toEqual(sent);
    expect(sent.scan_requests).toBeGreaterThan(0);
    mirrored.close();
  });

  test.each([
    ['the next run', forecastNextRun],
    ['the day after it', forecastNextDay],
  ])('a signal ends it while it rehearses %s (R27)', async (_, rehearse) => {
    const scene = await syncedScene();
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    await expect(rehearse(scene, { signal: stop.signal })).rejects.toMatchObject({ recovery: 'signal' });
  });

  test('it names the reason why each stream is read', async () => {
    const scene = await syncedScene();
    const reasons = async (wish = {}): Promise<unknown> => {
      const { streams } = await forecastNextRun(scene, wish);
      return ['assets', 'asset_lineage', 'column_lineage', 'asset_health_scores'].map(
        (name) => streams.find(({ stream }) => stream === name)?.reason,
      );
    };
    expect(await reasons()).toEqual(['increment', 'snapshot', 'increment', 'snapshot']);
    expect(await reasons({ full: true })).toEqual(['full', 'snapshot', 'full', 'snapshot']);
    scene.world.advance(8 * DAY);
    expect(await reasons()).toEqual(['full-every', 'snapshot', 'full-every', 'snapshot']);
    expect(await reasons({ fullEveryDays: 30 })).toEqual(['increment', 'snapshot', 'increment', 'snapshot']);
    scene.world.advance(82 * DAY);
    expect(await reasons()).toEqual(['clamp', 'snapshot', 'full-every', 'snapshot']);
    // Without marks, an expired bound does not cause a scan of lineage (R18).
    expect(await reasons({ fullEveryDays: 300 })).toEqual(['clamp', 'snapshot', 'increment', 'snapshot']);
  });

  test('it writes nothing and doesn’t change what the next run does', async () => {
    const scene = await syncedScene();
    const everything = (): unknown =>
      ['sync_runs', 'sync_checkpoints', 'marks', 'mirror', 'environments', 'list_lengths'].map((table) =>
        scene.mirrored.rows(`select * from ${table}`),
      );
    const before = everything();
    await forecastNextRun(scene, { full: true, history: true, pageSize: 1 });
    expect(everything()).toEqual(before);
  });

  test('it includes marked columns, tables without details, and children of deleted or restored assets', async () => {
    const scene = await syncedScene();
    const { env, mirrored } = scene;
    removeAsset(env, 'a3', 'lost');
    putColumnEdges(env, 'a2.c2', ['a1.c1']);
    for (const n of [4, 5, 6]) putAsset(env, `a${n}`);
    await mirrored.sync({ only: ['assets', 'columns'] });
    scene.world.advance(3 * HOUR);
    const { forecast } = await expectForecastHolds(scene);
    expect(forecast.streams.find(({ stream }) => stream === 'column_lineage')).toMatchObject({
      mode: 'marked',
      requests: 1,
    });
    await expectForecastHolds(scene);
  });

  test('it includes the lookup of a marked column without edges in the list of columns (R18)', async () => {
    const scene = await syncedScene();
    putColumn(scene.env, 'a2.c3', 'a2', { data_type: 'changed' });
    await scene.mirrored.sync({ only: ['assets', 'columns'] });
    scene.world.advance(3 * HOUR);
    const { forecast } = await expectForecastHolds(scene);
    expect(forecast.streams.find(({ stream }) => stream === 'column_lineage')?.requests).toBe(2);
  });

  test('it includes the lookup of a marked column without edges after a due scan of lineage (R18)', async () => {
    const scene = await syncedScene();
    putColumn(scene.env, 'a3.c9', 'a3');
    await scene.mirrored.sync();
    scene.world.advance(8 * DAY);
    const { forecast } = await expectForecastHolds(scene);
    const lineage = forecast.streams.find(({ stream }) => stream === 'column_lineage');
    expect(lineage).toMatchObject({ reason: 'full-every', requests: 2 });
  });

  test('it includes the second read, after the overlap, of what was read within the overlap (R18, R22)', async () => {
    const scene = await syncedScene();
    putColumnEdges(scene.env, 'a2.c2', ['a1.c1']);
    putAsset(scene.env, 'a2', { description: 'changed' });
    await scene.mirrored.sync();
    for (const requests of [0, 1, 0]) {
      const { forecast } = await expectForecastHolds(scene);
      for (const name of ['column_lineage', 'table_assets'])
        expect(forecast.streams.find(({ stream }) => stream === name)?.requests, name).toBe(requests);
      scene.world.advance(2 * HOUR);
    }
  });

  test('it counts pages from which the service removes what the token may not see', async () => {
    const scene = newScene();
    for (const n of [1, 2, 3, 4, 5]) {
      putAsset(scene.env, `z${n}`);
      putTest(scene.env, `z${n}`, `z${n}`);
      scene.env.hidden.add(`z${n}`);
    }
    await scene.mirrored.sync({ pageSize: 2 });
    scene.world.advance(8 * DAY);
    await expectForecastHolds(scene, { pageSize: 2 });
  });

  test('it assumes that what was denied or not live still is', async () => {
    const scene = await syncedScene();
    scene.env.denied.add('columns');
    scene.env.notLive.add('tests').add('executions');
    await scene.mirrored.sync({ history: true });
    const { summary } = await expectForecastHolds(scene, { history: true });
    expect(summary.streams.map(({ status }) => status)).toContain('denied');
  });

  /** Sixty assets are gone, and a full scan has held their removals back. */
  async function sceneOfHeldRemovals(): Promise<Scene> {
    const scene = newScene();
    for (let n = 0; n < 60; n++) putAsset(scene.env, `h${n}`);
    await scene.mirrored.sync();
    for (let n = 0; n < 60; n++) scene.env.assets.delete(`h${n}`);
    await scene.mirrored.sync({ full: true });
    scene.world.advance(2 * HOUR);
    return scene;
  }

  test('it counts held-back removals as missing from the list (R14)', async () => {
    const scene = await sceneOfHeldRemovals();
    const { forecast, summary } = await expectForecastHolds(scene, { full: true, pageSize: 10 });
    expect(forecast).toMatchObject({ requests: summary.requests, at_least: true });
  });

  test.each([true, false])(
    'it includes the lookups before --allow-shrink removes held-back rows (with --full: %s) (R14)',
    async (full) => {
      const scene = await sceneOfHeldRemovals();
      const { forecast } = await expectForecastHolds(scene, { full, allowShrink: true });
      expect(forecast.streams.find(({ stream }) => stream === 'assets')).toMatchObject({
        status: 'done',
        requests: 3,
        at_least: false,
      });
      expect((await expectForecastHolds(scene, { full: true })).forecast.at_least).toBe(false);
    },
  );

  test('it counts no edges of held-back columns, but includes the lookup of those columns (R18)', async () => {
    const scene = newScene();
    for (let n = 0; n < 60; n++) {
      putColumn(scene.env, `h${n}`, 'a1');
      putColumnEdges(scene.env, `h${n}`, ['a1.c1']);
    }
    await scene.mirrored.sync();
    for (let n = 0; n < 60; n++) remove(scene.env, 'columns', `h${n}`, 'lost');
    await scene.mirrored.sync({ full: true });
    for (const pageSize of [60, 100]) {
      const { forecast, summary } = await expectForecastHolds(scene, { full: true, pageSize });
      for (const told of [forecast.streams, summary.streams])
        expect(told.find(({ stream }) => stream === 'column_lineage')?.requests).toBe(2);
    }
  });

  test('it is a minimum for lists from which held-back rows may only be hidden (R14)', async () => {
    const scene = newScene();
    putAsset(scene.env, 'z');
    for (let n = 0; n < 60; n++) putColumn(scene.env, `h${n}`, 'z');
    await scene.mirrored.sync();
    scene.env.hidden.add('z');
    await scene.mirrored.sync({ full: true, pageSize: 10 });
    const { forecast, summary } = await expectForecastHolds(scene, { full: true, pageSize: 10 });
    expect(forecast.streams.filter(({ at_least }) => at_least).map(({ stream }) => stream)).toEqual(['columns']);
    expect(forecast.requests).toBeLessThan(summary.requests);
  });

  test('it continues the cycle of a run stopped by its budget, and says how many runs that takes', async () => {
    const scene = await syncedScene();
    const wish = { full: true, pageSize: 2, concurrency: 1, maxRequests: 12 };
    const { runs } = await forecastNextRun(scene, wish);
    let ran = 0;
    for (let status = 'stopped'; status === 'stopped' && ran < 100; ran++) {
      const { forecast, summary } = await expectForecastHolds(scene, wish);
      expect(forecast.runs).toBe((runs ?? 0) - ran);
      status = summary.status;
    }
    expect(ran).toBe(runs);
  });

  test('it counts no more than a hundred runs', async () => {
    const scene = await syncedScene();
    for (let n = 0; n < 101; n++) putColumn(scene.env, `a1.x${n}`, 'a1');
    await scene.mirrored.sync();
    expect((await forecastNextRun(scene, { full: true, pageSize: 1, maxRequests: 2 })).runs).toBeNull();
    expect((await forecastNextRun(scene, { full: true, pageSize: 1, maxRequests: 4 })).runs).toBeLessThan(100);
  });

  test.each([4, 11, 17, 23])(
    'it resumes a run killed at its request %i, and includes the round after it (R6)',
    async (nth) => {
      const scene = await syncedScene();
      await killedAt(scene, nth, { full: nth % 2 === 0, pageSize: 1 });
      scene.world.advance(60);
      await expectForecastHolds(scene, { pageSize: 1 });
    },
  );

  test('it is a minimum for lists that were never read to the end', async () => {
    const scene = newScene();
    const wish = { history: true, pageSize: 2 };
    await killedAt(scene, 5, wish);
    const forecast = await forecastNextRun(scene, wish);
    const summary = await scene.mirrored.sync(wish);
    expect(forecast.at_least).toBe(true);
    for (const [i, stream] of forecast.streams.entries()) {
      if (stream.at_least) expect(stream.requests).toBeLessThanOrEqual(summary.streams[i]?.requests ?? 0);
    }
    expect((await forecastNextRun(scene, wish)).at_least).toBe(false);
  });

  test('it covers every environment, including one that is listed again (R13)', async () => {
    const world = createWorld(['e1', 'e2', 'e3']);
    for (const place of world.environments.values()) furnish(place);
    const mirrored = createTestMirror(world);
    const scene = { world, mirrored, place: world.environment() };
    await mirrored.sync();
    world.environment('e2').listed = false;
    await mirrored.sync();
    expect((await forecastNextRun(scene)).missing).toEqual(['env e2']);
    world.environment('e2').listed = true;
    world.advance(HOUR);
    const { forecast } = await expectForecastHolds(scene, { pageSize: 2 });
    expect(forecast.streams.filter(({ env_id, reason }) => env_id === 'e2' && reason === 'returned')).toHaveLength(
      SCANNED_STREAMS.length,
    );
    await expectForecastHolds(scene, { environments: ['env e3'], only: ['tests', 'column_lineage'] });
    mirrored.close();
  });
});
