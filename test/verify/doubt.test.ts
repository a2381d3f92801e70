import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { Query, Source } from '../../src/core/ports/source.ts';
import { putAsset, putAssetEdge, putColumn, putScore, remove, removeAsset } from '../model/environment.ts';
import type { TestMirror } from '../model/test-mirror.ts';
import type { World } from '../model/world.ts';
import { USUAL_STREAMS } from '../support/catalogue.ts';
import { inShort, listEnvironment, syncedWorld, verified } from './setup.ts';

describe('what verify cannot compare', () => {
  test('a stream never synced to its end is a single finding', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("delete from sync_checkpoints where stream = 'columns'; delete from columns");
    const report = await verified(world, mirrored);
    expect({ equal: report.equal, found: inShort(report) }).toEqual({ equal: false, found: ['unsynced columns'] });
  });

  test.each(['count', 'rows'] as const)(
    'an environment that was never synced is not equal at depth %s',
    async (depth) => {
      const { world, mirrored } = await syncedWorld();
      mirrored.exec('delete from sync_checkpoints');
      const report = await verified(world, mirrored, { depth });
      expect(report.equal).toBe(false);
      expect(new Set(report.streams.map(({ status }) => status))).toEqual(new Set(['unsynced']));
    },
  );

  test('an unreadable environment leaves the answer open (R20)', async () => {
    const { world, mirrored } = await syncedWorld();
    const { source } = world;
    world.source = (...given) => ({
      ...source(...given),
      environments: async () => [
        { id: 'e1', name: 'env e1' },
        { id: 'e2', name: 7 },
      ],
    });
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report).toMatchObject({ equal: null, findings: [] });
    expect(report.not_looked_at).toContain('environment e2: cannot be read: name is not a string');
  });

  test('a collection that is not live keeps its rows and makes no difference (R15)', async () => {
    const { world, mirrored } = await syncedWorld();
    world.environment().notLive.add('latest-test-executions').add('asset-health-scores').add('tests');
    const report = await verified(world, mirrored);
    expect(report).toMatchObject({ equal: true, findings: [] });
    expect(report.streams.filter(({ status }) => status === 'unavailable').map(({ stream }) => stream)).toEqual([
      'tests',
      'latest_test_executions',
      'asset_health_scores',
    ]);
  });

  test('a forbidden collection leaves the answer open, and the others are compared (R9)', async () => {
    const { world, mirrored } = await syncedWorld();
    world.environment().denied.add('tests');
    const report = await verified(world, mirrored);
    expect(report).toMatchObject({ equal: null, findings: [] });
    expect(
      report.streams.filter(({ status }) => status !== 'equal').map(({ stream, status }) => [stream, status]),
    ).toEqual([['tests', 'failed']]);
  });

  test('a row that the next sync fetches is pending even if its stream cannot be read to the end (R9)', async () => {
    const { world, mirrored } = await syncedWorld();
    const put = (prefix: string, count: number): void => {
      for (let n = 0; n < count; n++) putColumn(world.environment(), `${prefix}${n}`, 'a1');
    };
    put('x', 20_100);
    put('z', 2000);
    world.advance(10);
    await mirrored.sync();
    mirrored.exec("update columns set data_type = 'wrong' where id like 'x%'");
    world.advance(60);
    putColumn(world.environment(), 'y', 'a1');
    let pages = 0;
    world.transformPage = (page, { path, query }) => {
      if (path.endsWith('/columns') && Object.keys(query).join() === 'limit' && ++pages === 12)
        throw new SyncError('stream', 'the answer is cut off');
      return page;
    };
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report).toMatchObject({ equal: null, findings: [], pending: [{ key: { id: 'y' }, what: 'missing' }] });
    expect(report.streams).toMatchObject([{ status: 'failed', possible: 20_100, pending: 1 }]);
  });

  test('a rejected row is a difference, with the reason (R20)', async () => {
    const { world, mirrored } = await syncedWorld();
    putColumn(world.environment(), 'bad', 'a1', { name: 7 });
    await mirrored.sync();
    const report = await verified(world, mirrored);
    expect(report.findings).toMatchObject([
      { what: 'missing', stream: 'columns', key: { id: 'bad' }, why: 'rejected: name is not a string' },
    ]);
  });

  test('a change of permission, which no feed reports, is a difference (R13)', async () => {
    const { world, mirrored } = await syncedWorld();
    world.environment().hidden.add('a3');
    const report = await verified(world, mirrored, { only: ['assets', 'columns'] });
    expect(inShort(report)).toEqual([
      'extra assets a3',
      'extra columns a3.c1',
      'extra columns a3.c2',
      'extra columns a3.c3',
    ]);
    expect(await verified(world, mirrored, { repairs: true })).toMatchObject({ equal: true });
  });
});

describe('an edge between assets that differs', () => {
  test.each([
    ['is pending if the service has refreshed its environment since', '2026-11-20T06:10:30Z', true],
    ['is a difference otherwise', '2026-11-20T06:09:00Z', false],
  ])('it %s', async (_what, last_synced_at, isPending) => {
    const { world, mirrored } = await syncedWorld();
    listEnvironment(world, () => ({ last_synced_at }));
    putAssetEdge(world.environment(), 'a1', 'a3');
    const report = await verified(world, mirrored, { only: ['asset_lineage'], depth: 'ids' });
    const found = ['missing asset_lineage a1 a3'];
    expect([inShort(report), inShort({ findings: report.pending })]).toEqual(isPending ? [[], found] : [found, []]);
  });
});

test('the score of a table that appeared after scores were last read is pending (R22)', async () => {
  const { world, mirrored } = await syncedWorld();
  putAsset(world.environment(), 'a4');
  putScore(world.environment(), 'a4', 0.25);
  world.advance(60);
  await mirrored.sync();
  const report = await verified(world, mirrored);
  expect([inShort(report), inShort({ findings: report.pending })]).toEqual([[], ['missing asset_health_scores a4']]);
});

test('a changed asset doesn’t explain a missing column (R13)', async () => {
  const { world, mirrored } = await syncedWorld();
  mirrored.exec("delete from columns where id = 'a1.c1'");
  putAsset(world.environment(), 'a1', { name: 'new' });
  const report = await verified(world, mirrored);
  expect([inShort(report), report.pending.map(({ stream }) => stream)]).toEqual([
    ['missing columns a1.c1'],
    ['assets'],
  ]);
});

describe('the confirmation of differences', () => {
  test('pages that shift while they are read make no false difference', async () => {
    const { world, mirrored } = await syncedWorld();
    const place = world.environment();
    world.transformPage = (page, { path, query, cursor }) => {
      // The first page of columns lacks one row and returns another with wrong values.
      const reads = path.endsWith('/columns') && query['ids'] === undefined && cursor === null;
      if (!reads) return page;
      return { ...page, items: [...page.items].slice(1).map((item) => ({ ...(item as object), data_type: 'torn' })) };
    };
    const report = await verified(world, mirrored, { pageSize: 4 });
    expect(report).toMatchObject({ equal: true, findings: [], pending: [] });
    expect(place.columns.size).toBe(9);
  });

  test('a sync that overtakes a response makes no difference', async () => {
    const { world, mirrored } = await syncedWorld();
    world.transformPage = (page, { path }) => {
      // While the response is in flight, the source changes and a sync mirrors the change.
      if (path.endsWith('/columns')) {
        world.advance(1);
        putColumn(world.environment(), 'a1.c1', 'a1', { data_type: String(world.nowMs) });
        const { data_type, synced_at } = world.environment().columns.get('a1.c1')?.item ?? {};
        const at = String(synced_at).replace('Z', '000Z');
        mirrored.exec(`update columns set data_type = '${data_type}', synced_at = '${at}' where id = 'a1.c1'`);
      }
      return page;
    };
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report).toMatchObject({ equal: true, findings: [], pending: [] });
    expect(report.streams).toMatchObject([{ requests: 1 + 4 + 1 }]);
  });

  /** Runs a sync before the first matching request of a verification. */
  function syncBefore(world: World, mirrored: TestMirror, isIt: (query: Query, path: string) => boolean): void {
    const { source } = world;
    let isDone = false;
    world.source = (...given) => {
      const made = source(...given);
      const page: Source['page'] = async (request, onRequest) => {
        if (!isDone && isIt(request.query, request.path.join('/'))) {
          isDone = true;
          await mirrored.sync();
        }
        return made.page(request, onRequest);
      };
      return { ...made, page };
    };
  }

  test.each([
    ['before the feeds are read', (query: Query) => query['deleted_since'] !== undefined],
    ['before a row is looked up', (query: Query) => query['ids'] !== undefined],
    ['between two pages', (_query: Query, path: string) => path.endsWith('column-lineage')],
  ])('a concurrent sync makes no difference: %s', async (_when, isIt) => {
    const { world, mirrored } = await syncedWorld();
    const place = world.environment();
    remove(place, 'columns', 'a1.c1');
    removeAsset(place, 'a3', 'lost');
    putColumn(place, 'new', 'a1');
    putAssetEdge(place, 'a1', 'b1');
    place.assetEdges.delete('a1>a2');
    world.advance(60);
    syncBefore(world, mirrored, isIt);
    expect(await verified(world, mirrored, { only: ['assets', 'columns', 'column_lineage'] })).toMatchObject({
      equal: true,
      findings: [],
    });
  });

  test('a row written during the verification makes no difference', async () => {
    const { world, mirrored } = await syncedWorld();
    // Its tombstone arrives late, so only the overlap of the next sync finds it.
    world.commitLate(100, () => remove(world.environment(), 'columns', 'a1.c1'));
    world.advance(5);
    await mirrored.sync({ only: ['columns'] });
    world.advance(200);
    const { nowMs } = world;
    expect(inShort(await verified(world, mirrored, { only: ['columns'] }))).toEqual(['extra columns a1.c1']);
    world.nowMs = nowMs;
    let asked = false;
    syncBefore(world, mirrored, (query) => {
      const isAfter = asked && query['synced_since'] !== undefined;
      asked ||= query['ids'] !== undefined;
      return isAfter;
    });
    expect(await verified(world, mirrored, { only: ['columns'] })).toMatchObject({ equal: true, findings: [] });
  });

  test('a read that restarts after an invalid cursor counts nothing twice (R7)', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update columns set name = 'wrong' where id = 'a1.c1'");
    putColumn(world.environment(), 'a1.c2', 'a1', { name: 'new' });
    let died = false;
    world.beforeRequest = ({ path, cursor }) => {
      if (path.endsWith('/columns') && cursor !== null && !died) {
        died = true;
        world.cursorEpoch += 1;
      }
    };
    const report = await verified(world, mirrored, { pageSize: 4, only: ['columns'] });
    expect(report.streams).toMatchObject([{ rows: 9, unequal: 1, missing: 0, extra: 0, pending: 1 }]);
  });

  test('a list whose pages are too heavy is read at half the limit, once (R24)', async () => {
    const { world, mirrored } = await syncedWorld();
    const limits: number[] = [];
    let most = 1000;
    world.beforeRequest = ({ query }) => {
      limits.push(Number(query['limit']));
      if (Number(query['limit']) > most) throw new SyncError('halve-page', 'too heavy.');
    };
    expect(await verified(world, mirrored, { only: ['columns'] })).toMatchObject({ equal: true });
    most = 500;
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report.streams).toMatchObject([{ status: 'failed', error: 'too heavy.' }]);
    expect(limits.filter((limit) => limit > 0)).toEqual([2000, 1000, 2000, 1000]);
  });

  test('a list with a repeated cursor fails (R8)', async () => {
    const { world, mirrored } = await syncedWorld();
    const source = world.source.bind(world);
    world.source = (...given) => {
      const real = source(...given);
      let first: string | null = null;
      const page: Source['page'] = async (...of) => {
        const answer = await real.page(...of);
        first ??= answer.nextCursor;
        return { ...answer, hasMore: true, nextCursor: first };
      };
      return { ...real, page };
    };
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 4 });
    const error = 'columns repeats a cursor: this is an error of the service';
    expect(report.streams).toMatchObject([{ status: 'failed', error, requests: 2 }]);
  });

  test('the number of requests is bounded, however small the pages', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update columns set name = 'wrong'");
    for (let n = 0; n < 291; n++) putColumn(world.environment(), `x${n}`, 'a1');
    await mirrored.sync();
    mirrored.exec("update columns set name = 'wrong'");
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 5 });
    expect(report.streams).toMatchObject([{ unequal: 250, possible: 50 }]);
    const asked = world.log.filter(({ query }) => query['ids'] !== undefined);
    expect(asked).toHaveLength(50);
  });

  test('beyond that number, differences are counted as possible', async () => {
    const { world, mirrored } = await syncedWorld();
    for (let n = 0; n < 3000; n++) putColumn(world.environment(), `${'long'.repeat(60)}${n}`, 'a1');
    world.advance(3600);
    await mirrored.sync();
    mirrored.exec("update columns set name = 'wrong'");
    const report = await verified(world, mirrored, { only: ['columns'] });
    // The lists, the feeds of columns and assets before and after, and the repeated lookups.
    expect(report.requests).toBe(1 + 2 + 4 + 50 + 4);
    const [columns] = report.streams;
    expect(columns?.possible).toBeGreaterThan(1000);
    expect(columns).toMatchObject({ status: 'different', unequal: 3009 - (columns?.possible ?? 0) });
  });
});

describe('verify --max-requests', () => {
  test('the answer stays open if no difference could be confirmed', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update columns set name = 'wrong'");
    const report = await verified(world, mirrored, { only: ['columns'], maxRequests: 3 });
    expect(report).toMatchObject({ equal: null, recovery: 'budget', findings: [] });
    expect([report.possible.length, report.streams]).toMatchObject([
      9,
      [{ status: 'stopped', possible: 9, unequal: 0 }],
    ]);
  });

  test('it stops cleanly, and reports what was found and what was not compared', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("delete from assets where id = 'b1'; update columns set name = 'wrong' where id = 'a1.c1'");
    const report = await verified(world, mirrored, { maxRequests: 11 });
    expect(report).toMatchObject({ equal: false, recovery: 'budget', requests: 11 });
    expect([inShort(report), inShort({ findings: report.possible })]).toEqual([
      ['missing assets b1'],
      ['unequal columns a1.c1 (name)'],
    ]);
    expect(report.streams.filter(({ status }) => status === 'stopped').map(({ stream }) => stream)).toEqual(
      USUAL_STREAMS.slice(USUAL_STREAMS.indexOf('columns')),
    );
  });
});
