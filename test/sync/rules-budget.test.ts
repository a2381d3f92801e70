import { expect, test } from 'vitest';
import { expectTrue, inSyncedWorld, inWorld, type Scene } from '../support/scene.ts';
import { DAY, HOUR } from '../support/world.ts';
import { putColumn } from '../support/world-place.ts';

/** Runs of so many requests until one is not stopped. */
async function inSlices({ mirrored, world }: Scene, maxRequests: number, options = {}) {
  const asked: string[] = [];
  for (let run = 1; ; run++) {
    const summary = await mirrored.sync({ maxRequests, pageSize: 2, ...options });
    expect(summary.requests).toBeLessThanOrEqual(maxRequests);
    asked.push(...mirrored.asked().map(({ path, query, cursor }) => JSON.stringify([path, query, cursor])));
    if (summary.status !== 'stopped') return { summary, asked, runs: run };
    world.advance(HOUR);
  }
}

test.each([2, 3, 7])('--max-requests %i: runs go on with one pass, which reads no page twice and ends done', (max) =>
  inWorld(async (scene) => {
    const { summary, asked, runs } = await inSlices(scene, max);
    expect(summary).toMatchObject({ status: 'done', pass: 1, run: runs });
    const counted = asked.filter((line) => !line.includes('asset-health-scores'));
    expect(new Set(counted).size).toBe(counted.length);
    expect(asked.filter((line) => line.includes('_since'))).toEqual([]);
    expectTrue(scene);
  })(),
);

test(
  '--max-requests: the next run after the end of a pass begins another',
  inSyncedWorld(async (scene) => {
    const { summary } = await inSlices(scene, 4);
    putColumn(scene.place, 'a1.c9', 'a1');
    const next = await scene.mirrored.sync();
    expect(next.pass).toBe(next.run);
    expect(next.run).toBe((summary.run ?? 0) + 1);
    expectTrue(scene);
  }),
);

test(
  '--max-requests: streams finished in the pass are not read again, and rounds get no second one (R6)',
  inSyncedWorld(async (scene) => {
    scene.world.advance(DAY);
    const { asked, runs } = await inSlices(scene, 5);
    expect(runs).toBeGreaterThan(1);
    for (const stream of ['assets', 'columns', 'tests'])
      expect(
        asked.filter((line) => line.startsWith(`["e1/${stream}",{"synced_since"`) && line.endsWith(',null]')),
      ).toHaveLength(1);
  }),
);

test(
  '--max-requests: a pass with --full scans every stream once',
  inSyncedWorld(async (scene) => {
    const { summary, asked } = await inSlices(scene, 6, { full: true });
    expect(summary.status).toBe('done');
    for (const stream of ['assets', 'columns', 'column-lineage'])
      expect(asked.filter((line) => line.includes(`"e1/${stream}",{"limit":2},null`))).toHaveLength(1);
    expectTrue(scene);
  }),
);

test(
  '--max-requests: a round of an earlier pass is followed by another one, in the runs of the new pass',
  inWorld(async (scene) => {
    scene.world.before = ({ path, cursor }) => {
      if (path === 'e1/columns' && cursor !== null) throw new Error('crash');
    };
    await expect(scene.mirrored.sync({ pageSize: 2, concurrency: 1 })).rejects.toThrow('crash');
    scene.world.before = () => {};
    scene.world.advance(DAY);
    putColumn(scene.place, 'a1.c1', 'a1', { data_type: 'changed since' });
    const { summary } = await inSlices(scene, 5);
    expect(summary).toMatchObject({ status: 'done', pass: 2 });
    expectTrue(scene);
  }),
);
