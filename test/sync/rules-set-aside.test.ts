import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import {
  putAsset,
  putColumn,
  putColumnEdges,
  putTest,
  remove,
  removeAsset,
  restoreAsset,
} from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { expectMirrored, failAt, liveIds, removeHooks, rowOf, type Scene, syncedScene } from '../support/scene.ts';

/** The scan of a list fails at its second page, whatever its size. Feeds and lookups of marked columns answer. */
function breakScan({ world }: Scene, recovery: SyncError['recovery'] = 'stream', list = 'columns'): void {
  world.beforeRequest = ({ path, query, cursor }) => {
    const isScan = !['synced_since', 'deleted_since', 'column_ids'].some((name) => name in query);
    if (path.endsWith(`/${list}`) && cursor !== null && isScan) throw new SyncError(recovery, 'the page is broken.');
  };
}

const asked = ({ mirrored }: Scene): string[] =>
  mirrored.requests('columns').map(({ query, cursor }) => {
    const kind = ['synced_since', 'deleted_since', 'asset_ids', 'ids'].find((name) => name in query) ?? 'scan';
    return `${kind}${cursor === null ? '' : ' on'}`;
  });

test.each([
  ['full-every', 8, 'stream'],
  ['clamp', 100, 'stream'],
  ['full-every', 8, 'restart-round'],
  ['full-every', 8, 'halve-page'],
] as const)(
  'while a due scan (%s) cannot end, the feeds continue and runs have problems: after %i days, %s (R9)',
  async (reason, days, recovery) => {
    const scene = await syncedScene();
    const { mirrored, env, world } = scene;
    world.advance(days * DAY);
    breakScan(scene, recovery);
    for (let day = 0; day < 3; day++) {
      putColumn(env, 'a1.c1', 'a1', { data_type: `on day ${day}` });
      putColumn(env, `a1.new${day}`, 'a1');
      remove(env, 'columns', day === 0 ? 'a2.c1' : `a1.new${day - 1}`);
      const summary = await mirrored.sync({ pageSize: 2 });
      expect(summary.status).toBe('problems');
      expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'failed', mode: 'feed' });
      expect(streamSummary(summary, 'columns').error).toMatch(
        /^the page is broken\. .*The feeds continue\. The next run tries the scan again/,
      );
      expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: `on day ${day}`, deleted_at: null });
      expect(rowOf(scene, 'columns', `a1.new${day}`)).toMatchObject({ deleted_at: null });
      expect(mirrored.checkpoint('columns').watermark).toBe(summary.server_time);
      const scans = day === 0 || recovery === 'restart-round' ? ['scan', 'scan on'] : ['scan on'];
      expect(asked(scene).slice(0, scans.length + 1)).toEqual([...scans, 'synced_since']);
      world.advance(DAY);
    }
    removeHooks(scene);
    const last = await mirrored.sync({ pageSize: 2 });
    expect([last.status, streamSummary(last, 'columns').error]).toEqual(['done', null]);
    expect(asked(scene)).toContain('scan on');
    expectMirrored(scene);
    world.advance(3600);
    expect(streamSummary(await mirrored.sync(), 'columns')).toMatchObject({ mode: 'feed', status: 'done' });
    expect(reason).toBeDefined();
  },
);

test.each([
  ['column_lineage', 'column-lineage'],
  ['table_assets', 'assets/tables'],
] as const)(
  'while a due scan of %s cannot end, marked rows are still read and runs have problems (R9, R13)',
  async (name, path) => {
    const scene = await syncedScene();
    const { mirrored, env, world } = scene;
    const queries = (): unknown[] =>
      mirrored.requests(path).map(({ query, cursor }) => [Object.keys(query)[0], cursor === null]);
    world.advance(8 * DAY);
    breakScan(scene, 'stream', path);
    // An edge and a field that only a scan finds.
    env.columnEdges.delete('a1.c2>a2.c2');
    Object.assign(env.assets.get('a1')?.item ?? {}, { schema_name: 'moved' });
    for (const n of [1, 2]) {
      putColumnEdges(env, 'a3.c2', [`a1.c${n}`]);
      putAsset(env, 'a3', { db_name: `db ${n}` });
      const summary = await mirrored.sync({ pageSize: 1 });
      expect(summary.status).toBe('problems');
      expect(streamSummary(summary, name)).toMatchObject({ mode: 'marked', status: 'failed' });
      expect(streamSummary(summary, name).error).toMatch(/^the page is broken\. Marked rows are still read\./);
      expect(queries().slice(0, 3)).toEqual([
        ['limit', true],
        ['limit', false],
        ['synced_since', true],
      ]);
      expect(
        mirrored.rows("select upstream_column_id up from column_lineage where downstream_column_id = 'a3.c2'"),
      ).toEqual([{ up: `a1.c${n}` }]);
      expect(rowOf(scene, 'assets', 'a3')).toMatchObject({ db_name: `db ${n}` });
      world.advance(DAY);
    }
    removeHooks(scene);
    const last = await mirrored.sync({ pageSize: 1 });
    expect(last.status).toBe('done');
    expect(streamSummary(last, name)).toMatchObject({ mode: 'scan', reason: 'full-every', status: 'done' });
    expectMirrored(scene);
  },
);

test('a failed --full leaves a scan due for what the feeds no longer reach, even with a long --full-every (R3, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(HOUR);
  putColumn(env, 'a1.c1', 'a1', { data_type: 'long ago' });
  world.advance(100 * DAY);
  breakScan(scene, 'restart-round');
  await mirrored.sync({ pageSize: 2, full: true, fullEveryDays: 1000 });
  removeHooks(scene);
  expect(await mirrored.sync({ pageSize: 2, fullEveryDays: 1000 })).toMatchObject({ status: 'done' });
  expectMirrored(scene);
});

test.each(['signal', 'budget'] as const)(
  'a scan that failed is recorded and reported once, even if the run stops before its stream continues: %s (R9)',
  async (recovery) => {
    const scene = await syncedScene();
    const { mirrored, world } = scene;
    world.advance(8 * DAY);
    await mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests: 12 });
    world.advance(2 * DAY);
    breakScan(scene);
    const { beforeRequest } = world;
    world.beforeRequest = (request) => {
      beforeRequest(request);
      if (request.path.endsWith('/assets')) throw new SyncError(recovery, 'the run stops here.');
    };
    const reported: (readonly [string, Error | null])[] = [];
    mirrored.onProgress = (event) => event.type === 'ended' && reported.push([event.summary.stream, event.error]);
    const summary = await mirrored.sync({ pageSize: 2, concurrency: 1 });
    expect(streamSummary(summary, 'columns')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^the page is broken\./),
    });
    expect(reported.filter(([stream]) => stream === 'columns')).toEqual([
      ['columns', expect.objectContaining({ message: streamSummary(summary, 'columns').error })],
    ]);
    const recorded = 'select status, error from sync_stream_runs where run_id = ? and stream = ?';
    expect(mirrored.rows(recorded, summary.run, 'columns')).toEqual([
      { status: 'failed', error: streamSummary(summary, 'columns').error },
    ]);
  },
);

test('a waiting scan clears no mark that the feeds left to a later run (R9, R13)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  removeAsset(env, 'a1', 'tombstone');
  world.advance(300);
  await mirrored.sync();
  world.advance(300);
  restoreAsset(env, 'a1');
  await mirrored.sync();
  breakScan(scene);
  // Within the overlap, a tombstone wins over rows that the scan returns, and over lookups of the asset's rows.
  await mirrored.sync({ pageSize: 4, full: true });
  await mirrored.sync({ pageSize: 4 });
  expect(asked(scene)).toContain('asset_ids');
  removeHooks(scene);
  world.advance(2 * HOUR);
  expect((await mirrored.sync({ pageSize: 4 })).status).toBe('done');
  expectMirrored(scene);
  expect(mirrored.rows('select * from marks')).toEqual([]);
});

test('rows that the feeds return while a scan waits count as seen by it, and others are deleted (R9, R12)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(DAY);
  await mirrored.sync();
  world.advance(7 * DAY);
  breakScan(scene);
  await mirrored.sync({ pageSize: 2 });
  putColumn(env, 'a0.before', 'a1');
  remove(env, 'columns', 'a3.c1', 'lost');
  await mirrored.sync({ pageSize: 2 });
  removeHooks(scene);
  expect((await mirrored.sync({ pageSize: 2 })).status).toBe('done');
  expect(mirrored.requests('columns').flatMap(({ query }) => query['ids'] ?? [])).not.toContain('a0.before');
  expect(rowOf(scene, 'columns', 'a3.c1')).toMatchObject({ deletion: 'absent' });
  expectMirrored(scene);
});

test('a deleted asset’s columns are removed in the same run, even if their unfinished scan goes first and fails (R9, R13)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  expect((await mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests: 12 })).status).toBe('stopped');
  expect(mirrored.checkpoint('columns').round?.mode).toBe('scan');
  world.advance(2 * DAY);
  breakScan(scene);
  removeAsset(env, 'a1', 'lost');
  const summary = await mirrored.sync({ pageSize: 2, concurrency: 1 });
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'failed', mode: 'feed' });
  expect(asked(scene).filter((each) => each.startsWith('scan'))).toEqual(['scan on']);
  expectMirrored(scene);
});

test('a deleted asset’s columns are removed in the same run, even if their scan fails and assets come last (R6, R13)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  failAt(scene, 'assets', 1, 'forbidden');
  expect((await mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests: 4 })).status).toBe('stopped');
  world.advance(8 * DAY);
  breakScan(scene);
  removeAsset(env, 'a1', 'lost');
  const summary = await mirrored.sync({ pageSize: 2, concurrency: 1 });
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'failed', mode: 'feed' });
  expectMirrored(scene);
});

test('a scan starts over if its feeds fell out of reach before they could begin, in a run that lasts for weeks (R3, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  breakScan(scene);
  expect((await mirrored.sync({ pageSize: 2, concurrency: 1 })).status).toBe('problems');
  // Deleted after the scan's first page had returned it.
  remove(env, 'columns', 'a1.c1');
  world.advance(60 * DAY);
  const failing = world.beforeRequest;
  world.beforeRequest = (asked) => {
    try {
      failing(asked);
    } catch (error) {
      world.advance(30 * DAY);
      throw error;
    } finally {
      if (asked.path.endsWith('/columns') && 'synced_since' in asked.query) world.beforeRequest = failing;
    }
  };
  await mirrored.sync({ pageSize: 2, concurrency: 1 });
  removeHooks(scene);
  expect((await mirrored.sync({ pageSize: 2 })).status).toBe('done');
  expectMirrored(scene);
});

test('a row that only a feed returned while a scan waited is removed if it is deleted before the scan begins (R3, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(100 * DAY);
  putColumn(env, 'a1.new', 'a1');
  world.beforeRequest = ({ path, query }) => {
    if (path.endsWith('/columns') && Object.keys(query).join() === 'limit')
      throw new SyncError('stream', 'the list is broken.');
  };
  expect((await mirrored.sync()).status).toBe('problems');
  expect(liveIds(scene, 'columns')).toContain('a1.new');
  world.advance(2 * HOUR);
  remove(env, 'columns', 'a1.new');
  world.advance(DAY);
  removeHooks(scene);
  expect((await mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('after a second failed scan in a cycle, the feeds follow as well (R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  breakScan(scene);
  const wish = { pageSize: 2, concurrency: 1 };
  const first = await mirrored.sync({ ...wish, maxRequests: 20 });
  putColumn(env, 'a1.c1', 'a1', { data_type: 'changed' });
  const second = await mirrored.sync(wish);
  expect([first.status, second.cycle]).toEqual(['stopped', first.cycle]);
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: 'changed' });
});

test('a run stopped while a scan waits is continued, and is not green without the scan (R6, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, world } = scene;
  world.advance(8 * DAY);
  breakScan(scene);
  const wish = { only: ['columns'] as const, pageSize: 2, concurrency: 1 };
  expect((await mirrored.sync({ ...wish, maxRequests: 3 })).status).toBe('stopped');
  expect((await mirrored.sync(wish)).status).toBe('problems');
  removeHooks(scene);
  expect((await mirrored.sync(wish)).status).toBe('done');
  expect((await mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test.each([
  ['columns', 'columns'],
  ['table_assets', 'assets/tables'],
] as const)(
  'a run that continues the feeds of %s after a failed scan tries the scan again, and is not green without it (R6, R9)',
  async (stream, list) => {
    const scene = await syncedScene();
    const { mirrored, env, world } = scene;
    world.advance(8 * DAY);
    for (const id of ['a2', 'a3']) putAsset(env, id, { db_name: 'changed' });
    const wish = { only: ['assets', stream], pageSize: 1 } as const;
    breakScan(scene, 'restart-round', list);
    const broken = world.beforeRequest;
    let feedPages = 0;
    world.beforeRequest = (request) => {
      broken(request);
      const isFeed = 'synced_since' in request.query || 'deleted_since' in request.query;
      if (!request.path.endsWith(`/${list}`) || !isFeed) return;
      feedPages += 1;
      if (feedPages === 2) throw new SyncError('budget', 'the requests are used up');
    };
    const first = await mirrored.sync(wish);
    world.beforeRequest = broken;
    const second = await mirrored.sync(wish);
    expect([first.status, second.cycle, second.status]).toEqual(['stopped', first.cycle, 'problems']);
    removeHooks(scene);
    const third = await mirrored.sync(wish);
    expect([third.status, streamSummary(third, stream).mode]).toEqual(['done', 'scan']);
  },
);

test('a cycle with --full resumes no scan that waited before it (R6, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  breakScan(scene);
  const wish = { pageSize: 2, concurrency: 1 };
  expect((await mirrored.sync(wish)).status).toBe('problems');
  removeHooks(scene);
  // On a page that the waiting scan has read, and no feed reports it.
  Object.assign(env.columns.get('a1.c1')?.item ?? {}, { data_type: 'silently changed' });
  world.advance(HOUR);
  const first = await mirrored.sync({ ...wish, full: true, maxRequests: 3 });
  const second = await mirrored.sync({ ...wish, full: true });
  expect([first.status, second.cycle, second.status]).toEqual(['stopped', first.cycle, 'done']);
  expectMirrored(scene);
});

test('a run that lasts for days attempts a scan once, and no feed a second time once it is out of reach (R3, R9)', async () => {
  const scene = await syncedScene();
  const { mirrored, world } = scene;
  world.advance(100 * DAY);
  const { watermark } = mirrored.checkpoint('columns');
  world.beforeRequest = ({ path, query, cursor }) => {
    if (!path.endsWith('/columns') || 'deleted_since' in query) return;
    if ('synced_since' in query) world.advance(2 * DAY);
    else if (cursor !== null) throw new SyncError('stream', 'the page is broken.');
  };
  const summary = await mirrored.sync({ only: ['columns'], pageSize: 2 });
  expect(summary.status).toBe('problems');
  expect(asked(scene)).toEqual(['scan', 'scan on', 'synced_since']);
  expect(mirrored.checkpoint('columns').watermark).toBe(watermark);
  removeHooks(scene);
  expect((await mirrored.sync({ pageSize: 2 })).status).toBe('done');
  expectMirrored(scene);
});

test('a test stays live if the scan waited while its tie was looked up in the first of two lists (R9, R10)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  world.advance(8 * DAY);
  env.keepsTombstones = true;
  remove(env, 'tests', 't1');
  putTest(env, 't1', 'a1');
  for (let run = 0; run < 2; run++) {
    let isFirst = true;
    world.beforeRequest = ({ path, query }) => {
      if (path !== 'e1/tests' || !('ids' in query) || !isFirst) return;
      isFirst = false;
      throw new SyncError('stream', 'the lookup is broken.');
    };
    expect(streamSummary(await mirrored.sync(), 'tests').status).toBe('failed');
    // The feed of the last run does not return the test again.
    world.advance(2 * HOUR);
  }
  removeHooks(scene);
  await mirrored.sync();
  expect(mirrored.requests('tests').map(({ query }) => query['ids'])).toContainEqual(['t1']);
  expect(rowOf(scene, 'tests', 't1')).toMatchObject({ deleted_at: null });
  expectMirrored(scene);
});
