import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { expectMirrored, syncedScene } from '../support/scene.ts';

test('a run locks its environments before it reads a page (R26)', async () => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  const steps: string[] = [];
  mirrored.onHold = (envIds) => void steps.push(`holds ${envIds.join()}`);
  mirrored.beforeFetch = () => void steps.push('reads');
  expect((await mirrored.sync()).status).toBe('done');
  expect(steps.slice(0, 2)).toEqual([`holds ${env.id}`, 'reads']);
  expectMirrored(scene);
});

test('a run whose environment another run is writing reads nothing, writes nothing and logs nothing (R26)', async () => {
  const { mirrored } = await syncedScene();
  const runs = mirrored.rows('select * from sync_runs');
  mirrored.onHold = () => {
    throw new SyncError('locked', 'another run writes it');
  };
  const summary = await mirrored.sync();
  expect(summary).toMatchObject({ run: null, recovery: 'locked', error: 'another run writes it', streams: [] });
  expect(mirrored.requests()).toEqual([]);
  expect(mirrored.rows('select * from sync_runs')).toEqual(runs);
});
