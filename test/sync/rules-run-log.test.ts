import { expect, test } from 'vitest';
import { inSyncedWorld, type Scene } from '../support/scene.ts';

const logged = ({ mirrored }: Scene, run: number | null): unknown[] =>
  mirrored
    .rows('select * from sync_stream_runs where run_id = ? order by rowid', run)
    .map((row) => [row['stream'], row['status'], row['mode'], row['reason']].join(' '))
    .sort();

test(
  'run log: after a stop by --max-requests every selected stream has a row, those not begun were not reached',
  inSyncedWorld(async (scene) => {
    const { run, status } = await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
    expect(status).toBe('stopped');
    expect(logged(scene, run)).toEqual([
      'asset_health_scores stopped none not reached',
      'asset_lineage stopped none not reached',
      'assets done feed increment',
      'bi_assets done marked increment',
      'column_lineage stopped none not reached',
      'columns stopped feed increment',
      'latest_test_executions stopped none not reached',
      'table_assets done marked increment',
      'tests stopped none not reached',
    ]);
    const only = ['assets', 'columns', 'tests'] as const;
    const few = await scene.mirrored.sync({ maxRequests: 1, concurrency: 1, only });
    expect(logged(scene, few.run)).toEqual([
      'assets done none finished earlier in this pass',
      'columns stopped feed increment',
      'tests stopped none not reached',
    ]);
  }),
);

test(
  'run log: streams finished in an earlier run of the pass say so',
  inSyncedWorld(async (scene) => {
    await scene.mirrored.sync({ maxRequests: 4, concurrency: 1 });
    const { run, status } = await scene.mirrored.sync({ concurrency: 1 });
    expect(status).toBe('done');
    expect(logged(scene, run)).toEqual([
      'asset_health_scores done snapshot snapshot',
      'asset_lineage done snapshot snapshot',
      'assets done none finished earlier in this pass',
      'bi_assets done none finished earlier in this pass',
      'column_lineage done marked increment',
      'columns done feed increment',
      'latest_test_executions done snapshot snapshot',
      'table_assets done none finished earlier in this pass',
      'tests done feed increment',
    ]);
  }),
);
