import { expect, test } from 'vitest';
import { parseExactly } from '../../src/core/json.ts';
import {
  execute,
  type Item,
  putAsset,
  putAssetEdge,
  putColumn,
  putScore,
  putTest,
  remove,
} from '../model/environment.ts';
import { dumpTables } from '../model/invariants.ts';
import { DAY } from '../model/world.ts';
import { expectMirrored, liveIds, newScene, rowOf, syncedScene } from '../support/scene.ts';
import { inShort, verified } from '../verify/setup.ts';

test('JSON with members in another order counts as equal, so no stream writes the row again (R21)', async () => {
  const scene = newScene();
  const { env, mirrored } = scene;
  const config = { where: { from: 1, to: 2 }, of: ['x'] };
  putAsset(env, 'a1', { owners: [{ name: 'n', id: 'i' }], more: 1, other: [{ a: 1, b: 2 }] });
  putTest(env, 't1', 'a1', { config, more: 1, other: { a: 1, b: 2 } });
  execute(env, 't1', 't1-r1', { more: 1, other: 2 });
  await mirrored.sync({ history: true });
  const before = dumpTables(mirrored);
  env.reversesMembers = true;
  scene.world.advance(DAY);
  expect(await mirrored.sync({ full: true, history: true })).toMatchObject({ status: 'done', rows_written: 0 });
  expect(dumpTables(mirrored)).toBe(before);
  expect(inShort(await verified(scene.world, mirrored))).toEqual([]);
  (env.tests.get('t1')?.item as Item)['config'] = { ...config, of: ['y'] };
  expect(await mirrored.sync({ full: true, history: true })).toMatchObject({ status: 'done', rows_written: 1 });
});

test('numbers beyond 2^53 are kept as sent, and a change of one is a change of its row (R19)', async () => {
  const scene = newScene();
  const { env, world, mirrored } = scene;
  const huge = (last: number): unknown => parseExactly(`1234567890123456789${last}`);
  const send = (last: number): void => {
    for (const things of [env.assets.get('a1'), env.columns.get('a1.c1')])
      (things?.item as Item)['row_count'] = huge(last);
    (env.tests.get('t1')?.item as Item)['config'] = { limit: huge(last) };
    execute(env, 't1', 't1-r9', { failure_count: huge(last) });
  };
  putTest(env, 't1', 'a1');
  send(0);
  expect((await mirrored.sync()).status).toBe('done');
  world.advance(DAY);
  send(1);
  expect(inShort(await verified(world, mirrored, { only: ['columns', 'table_assets', 'tests'] }))).toEqual([
    'unequal table_assets a1 (extra)',
    'unequal columns a1.c1 (extra)',
    'unequal tests t1 (config)',
  ]);
  expect((await mirrored.sync({ full: true })).status).toBe('done');
  const extra = '{"row_count":12345678901234567891}';
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ extra });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ extra });
  expect(rowOf(scene, 'tests', 't1')).toMatchObject({ config: '{"limit":12345678901234567891}' });
  expect(rowOf(scene, 'latest_test_executions', 't1-r9')).toMatchObject({
    failure_count: null,
    extra: '{"failure_count":12345678901234567891}',
  });
  world.advance(DAY);
  expect(await mirrored.sync({ full: true })).toMatchObject({ status: 'done', rows_written: 0 });
});

test('a required count beyond 2^53 is rounded, and extra has the exact number (R19, R20)', async () => {
  const { env, world, mirrored } = newScene();
  putScore(env, 'a1', 0.5);
  const score = env.scores.get('a1') as Item;
  env.scores.set('a1', {
    ...score,
    total: { ...(score['total'] as Item), test_count: parseExactly('9007199254740993') },
  });
  expect(await mirrored.sync()).toMatchObject({ status: 'done', rows_rejected: 0 });
  expect(mirrored.rows("select test_count, extra from asset_health_scores where asset_id = 'a1'")).toEqual([
    { test_count: 2 ** 53, extra: '{"total":{"test_count":9007199254740993}}' },
  ]);
  expect(inShort(await verified(world, mirrored))).toEqual([]);
});

test('keys that differ only after U+0000 are different keys, even when deleted and restored (R13, R18)', async () => {
  const scene = await syncedScene();
  const { env, world, mirrored } = scene;
  const odd = 'a1\u0000b';
  putAsset(env, odd);
  putColumn(env, `${odd}.c`, odd);
  putColumn(env, 'a1.c1\u0000', 'a1');
  putAssetEdge(env, odd, 'a1');
  await mirrored.sync();
  expectMirrored(scene);
  world.advance(DAY);
  remove(env, 'assets', odd);
  remove(env, 'columns', `${odd}.c`, 'lost');
  remove(env, 'columns', 'a1.c1\u0000');
  await mirrored.sync();
  expect(liveIds(scene, 'columns')).toContain('a1.c1');
  expect(liveIds(scene, 'columns')).not.toContain(`${odd}.c`);
  expectMirrored(scene);
  world.advance(DAY);
  putAsset(env, odd);
  await mirrored.sync();
  expectMirrored(scene);
  expect(inShort(await verified(world, mirrored))).toEqual([]);
});
