import { expect, test } from 'vitest';
import { FEED_STREAMS, SNAPSHOT_STREAMS, USUAL_STREAMS } from '../support/catalogue.ts';
import { type Scene, syncedScene } from '../support/scene.ts';

const logged = ({ mirrored }: Scene, run: number | null): unknown[] =>
  mirrored
    .rows('select * from sync_stream_runs where run_id = ? order by rowid', run)
    .map((row) => [row['stream'], row['status'], row['mode'], row['reason']].join(' '))
    .sort();

test('a run stopped by --max-requests logs the streams that it reached and counts the others', async () => {
  const scene = await syncedScene();
  const first = await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
  expect(first).toMatchObject({ status: 'stopped', streams_not_reached: USUAL_STREAMS.length - 4 });
  expect(logged(scene, first.run)).toEqual(['assets done feed increment', 'columns stopped feed increment']);
  const few = await scene.mirrored.sync({ maxRequests: 1, concurrency: 1 });
  expect(few).toMatchObject({ status: 'stopped', streams_not_reached: USUAL_STREAMS.length - 3 });
  expect(logged(scene, few.run)).toEqual([]);
});

test('streams finished by an earlier run of the cycle are reported as such, and not logged again', async () => {
  const scene = await syncedScene();
  await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
  const { run, status, streams } = await scene.mirrored.sync({ concurrency: 1 });
  expect(status).toBe('done');
  const finished = streams.filter(({ reason }) => reason === 'finished earlier in this cycle');
  expect(finished.map(({ stream }) => stream)).toEqual(['assets', 'table_assets', 'bi_assets']);
  const snapshots = SNAPSHOT_STREAMS.map((name) => `${name} done snapshot snapshot`);
  const feeds = FEED_STREAMS.filter((name) => name !== 'assets').map((name) => `${name} done feed increment`);
  expect(logged(scene, run)).toEqual([...snapshots, ...feeds].sort());
});
