import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { Page } from '../../src/core/ports/source.ts';
import { putColumn, remove } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, type LoggedRequest } from '../model/world.ts';
import { LIST_PATHS, USUAL_STREAMS } from '../support/catalogue.ts';
import {
  expectMirrored,
  failAt,
  liveIds,
  newScene,
  onRequest,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  timeOfRun,
} from '../support/scene.ts';

test('a page, its marks and its checkpoint are committed together or not at all (R5)', async () => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  const before = mirrored.checkpoint('columns');
  putColumn(env, 'a1.c9', 'a1');
  mirrored.exec(`create trigger no_progress before update on sync_checkpoints when new.stream = 'columns'
      begin select raise(abort, 'no progress'); end`);
  await mirrored.sync();
  expect(rowOf(scene, 'columns', 'a1.c9')).toBeUndefined();
  expect(mirrored.rows("select * from marks where stream = 'column_lineage'")).toEqual([]);
  expect(mirrored.checkpoint('columns')).toEqual(before);
  mirrored.exec('drop trigger no_progress');
  expect((await mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test.each(['before', 'after'] as const)('a crash %s any commit of a first sync loses nothing (R5)', async (when) => {
  const scene = newScene();
  const { mirrored } = scene;
  const hook = when === 'before' ? 'beforeCommit' : 'afterCommit';
  for (let crashAt = 1, crashed = true; crashed; crashAt += 3) {
    let commits = 0;
    mirrored[hook] = () => {
      if (++commits >= crashAt) throw new Error('crash');
    };
    crashed = await mirrored.sync({ pageSize: 2 }).then(
      () => false,
      () => true,
    );
  }
  expectMirrored(scene);
});

test('an interrupted read resumes first, from its stored cursor with its stored limit, however old (R6)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 2, concurrency: 1 });
  removeHooks(scene);
  scene.world.advance(80 * DAY);
  await scene.mirrored.sync({ pageSize: 5, concurrency: 1 });
  const [first, second] = scene.mirrored.requests();
  expect(first).toMatchObject({ path: 'e1/columns', query: { limit: 2 } });
  expect(first?.cursor).toContain('"a2.c1"');
  expect(second).toMatchObject({ path: 'e1/columns', query: { limit: 2 } });
  const pages = scene.mirrored
    .requests('columns')
    .filter(({ query }) => !('synced_since' in query || 'deleted_since' in query));
  expect(pages.map(({ query }) => query['limit'])).toEqual([2, 2, 2]);
});

test('a round begun in an earlier run is followed by another, so a green run is accurate as of its own T (R6)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 2 });
  removeHooks(scene);
  scene.world.advance(DAY);
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'changed since' });
  const time = timeOfRun(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
  expect(scene.mirrored.checkpoint('columns').watermark).toBe(time);
});

test('two runs within the same second are distinguished (R6)', async () => {
  const scene = newScene();
  scene.world.latencyMs = 1;
  failAt(scene, 'columns', 3, 'run');
  const { server_time } = await scene.mirrored.sync({ pageSize: 2 });
  removeHooks(scene);
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'changed since' });
  expect((await scene.mirrored.sync()).server_time).toBe(server_time);
  expectMirrored(scene);
});

test('--full restarts an unfinished scan, unless it continues its own cycle (R6)', async () => {
  const scene = newScene();
  const firstPages = () =>
    scene.mirrored
      .requests('columns')
      .filter(({ cursor, query }) => cursor === null && !('synced_since' in query) && !('deleted_since' in query));
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 2 });
  removeHooks(scene);
  scene.world.advance(DAY);
  const wish = { full: true, pageSize: 2, concurrency: 1, only: ['columns'] as const };
  expect((await scene.mirrored.sync({ ...wish, maxRequests: 3 })).status).toBe('stopped');
  expect(firstPages()).toHaveLength(1);
  expect((await scene.mirrored.sync(wish)).status).toBe('done');
  expect(firstPages()).toEqual([]);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

function expireCursorsOf({ world }: Scene, path: string, times = 99): void {
  let left = times;
  world.beforeRequest = (asked) => {
    if (asked.path.endsWith(`/${path}`) && asked.cursor !== null && left-- > 0)
      throw new SyncError('restart-read', 'invalid_cursor');
  };
}

test('invalid_cursor restarts a read at its first page (R7)', async () => {
  const scene = newScene();
  expireCursorsOf(scene, 'columns', 3);
  expect((await scene.mirrored.sync({ pageSize: 2 })).status).toBe('done');
  expect(scene.mirrored.requests('columns').filter(({ cursor }) => cursor === null)).toHaveLength(4);
  expectMirrored(scene);
});

test('a read restarts at most three times per run, and again three times in the next (R7)', async () => {
  const scene = newScene();
  for (let run = 1; run <= 2; run++) {
    expireCursorsOf(scene, 'columns');
    const summary = await scene.mirrored.sync({ pageSize: 2 });
    expect(streamSummary(summary, 'columns').status).toBe('failed');
    expect(streamSummary(summary, 'tests').status).toBe('done');
    const firsts = scene.mirrored.requests('columns').filter(({ cursor }) => cursor === null);
    expect(firsts).toHaveLength(4);
  }
  removeHooks(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('a restarted read forgets which rows it saw, so they can be swept (R7)', async () => {
  const scene = await syncedScene();
  scene.world.advance(DAY);
  onRequest(scene, 'columns', 2, () => {
    remove(scene.env, 'columns', 'a1.c1', 'lost');
    scene.world.cursorEpoch += 1;
  });
  expect((await scene.mirrored.sync({ full: true, pageSize: 2 })).status).toBe('done');
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
});

test('a restarted read discards what it staged (R7)', async () => {
  const scene = await syncedScene();
  onRequest(scene, 'latest-test-executions', 2, () => {
    remove(scene.env, 'tests', 't1');
    scene.world.cursorEpoch += 1;
  });
  await scene.mirrored.sync({ pageSize: 1 });
  const left = scene.mirrored.rows('select sub_test_unique_id from latest_test_executions order by 1');
  expect(left.map((row) => row['sub_test_unique_id'])).toEqual(['t2.1', 't3.1']);
});

test('short and empty pages don’t end a read (R8)', async () => {
  const scene = newScene();
  scene.env.hidden.add('a1').add('a2');
  expect((await scene.mirrored.sync({ pageSize: 2 })).status).toBe('done');
  expect(liveIds(scene, 'columns')).toEqual(['a3.c1', 'a3.c2', 'a3.c3']);
  expectMirrored(scene);
});

const BAD_CURSORS: [string, (page: Page, asked: LoggedRequest) => Page][] = [
  ['no cursor although has_more is set', (page) => ({ ...page, nextCursor: null })],
  ['the cursor that was just sent', (page, { cursor }) => (cursor === null ? page : { ...page, nextCursor: cursor })],
  [
    'an earlier cursor of the read',
    (page, { cursor }) => (cursor?.includes('a1.c3') ? { ...page, nextCursor: CYCLE.first } : remember(page)),
  ],
];
const CYCLE = { first: null as string | null };
function remember(page: Page): Page {
  CYCLE.first ??= page.nextCursor;
  return page;
}

test.each(BAD_CURSORS)('a bad cursor fails only its own stream: %s (R8)', async (_, answer) => {
  const scene = newScene();
  CYCLE.first = null;
  scene.world.transformPage = (page, asked) => (asked.path === 'e1/columns' ? answer(page, asked) : page);
  const summary = await scene.mirrored.sync({ pageSize: 1 });
  expect(summary.status).toBe('problems');
  expect(summary.streams.filter(({ status }) => status === 'failed').map(({ stream }) => stream)).toEqual(['columns']);
  removeHooks(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(scene.mirrored.requests('columns')[0]?.cursor).toBeNull();
  expectMirrored(scene);
});

test('a cycle of cursors that is longer than a run fails the stream in a later run (R8)', async () => {
  const scene = newScene();
  const only = ['columns'] as const;
  CYCLE.first = null;
  scene.world.transformPage = (page, asked) =>
    asked.cursor?.includes('a2.c3') ? { ...page, nextCursor: CYCLE.first } : remember(page);
  const ended: unknown[] = [];
  for (let run = 0; run < 20; run++) {
    const summary = await scene.mirrored.sync({ only, pageSize: 1, maxRequests: 2 });
    ended.push(streamSummary(summary, 'columns')?.status);
  }
  expect(ended).toContain('failed');
});

test('a restarted read may return the cursors that it returned before (R7, R8)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3, 'restart-read');
  expect((await scene.mirrored.sync({ pageSize: 1 })).status).toBe('done');
  expectMirrored(scene);
});

test('a resumed read detects a repetition of the cursor it resumed from (R8)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 1 });
  removeHooks(scene);
  scene.world.transformPage = (page, asked) =>
    asked.path === 'e1/columns' ? { ...page, nextCursor: asked.cursor } : page;
  const summary = await scene.mirrored.sync({ pageSize: 1 });
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'failed', requests: 1 });
});

test.each(LIST_PATHS)('a failing stream stops no other, and the run is not green: %s (R9)', async (path) => {
  const scene = newScene();
  failAt(scene, path);
  const summary = await scene.mirrored.sync();
  expect(summary.status).toBe('problems');
  const failed = summary.streams.filter(({ status }) => status === 'failed');
  expect(failed).toHaveLength(1);
  const waiting = summary.streams.filter(({ status }) => status === 'waiting').map(({ stream }) => stream);
  const follow = { assets: ['table_assets', 'bi_assets'], columns: ['column_lineage'] } as Record<string, string[]>;
  expect(waiting).toEqual(follow[path] ?? []);
  expect(summary.streams).toHaveLength(USUAL_STREAMS.length);
  removeHooks(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});
