import { expect, test } from 'vitest';
import { inSyncedWorld, type Scene } from '../support/scene.ts';

const logged = ({ mirrored }: Scene, run: number | null): unknown[] =>
  mirrored
    .rows('select * from sync_stream_runs where run_id = ? order by rowid', run)
    .map((row) => [row['stream'], row['status'], row['mode'], row['reason']].join(' '))
    .sort();

test(
  'run log: after a stop by --max-requests it has the streams that the run came to, and the run counts the others',
  inSyncedWorld(async (scene) => {
    const first = await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
    expect(first).toMatchObject({ status: 'stopped', streams_not_reached: 5 });
    expect(logged(scene, first.run)).toEqual(['assets done feed increment', 'columns stopped feed increment']);
    const few = await scene.mirrored.sync({ maxRequests: 1, concurrency: 1 });
    expect(few).toMatchObject({ status: 'stopped', streams_not_reached: 6 });
    expect(logged(scene, few.run)).toEqual([]);
  }),
);

test(
  'run log: streams finished in an earlier run of the cycle say so in the summary, and are not logged again',
  inSyncedWorld(async (scene) => {
    await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
    const { run, status, streams } = await scene.mirrored.sync({ concurrency: 1 });
    expect(status).toBe('done');
    const finished = streams.filter(({ reason }) => reason === 'finished earlier in this cycle');
    expect(finished.map(({ stream }) => stream)).toEqual(['assets', 'table_assets', 'bi_assets']);
    expect(logged(scene, run)).toEqual([
      'asset_health_scores done snapshot snapshot',
      'asset_lineage done snapshot snapshot',
      'columns done feed increment',
      'latest_test_executions done snapshot snapshot',
      'tests done feed increment',
    ]);
  }),
);
