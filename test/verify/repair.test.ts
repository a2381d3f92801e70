import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { putColumn, remove } from '../model/environment.ts';
import type { World } from '../model/world.ts';
import { syncedWorld, verified } from './setup.ts';

function putColumns(world: World, count: number, prefix = 'x'): void {
  for (let n = 0; n < count; n++) putColumn(world.environment(), `${prefix}${n}`, 'a1');
}

const LIVE = 'select count(*) n from columns where deleted_at is null';

describe('verify --repair', () => {
  test('a repair is a run of its own that ends no cycle (R6)', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("delete from columns where id = 'a1.c1'; delete from asset_lineage");
    const stopped = await mirrored.sync({ maxRequests: 4, full: true });
    const before = mirrored.rows(
      'select stream, watermark, scanned_at, round from sync_checkpoints where stream = ?',
      'columns',
    );
    const report = await verified(world, mirrored, { only: ['columns', 'asset_lineage'], repairs: true });
    expect(report).toMatchObject({ equal: true, repair: { run: 3, not_repaired: [] } });
    expect(
      mirrored.rows('select stream, watermark, scanned_at, round from sync_checkpoints where stream = ?', 'columns'),
    ).toEqual(before);
    expect(mirrored.rows('select status from sync_runs where id = 3')).toEqual([{ status: 'done' }]);
    expect(await mirrored.sync()).toMatchObject({ status: 'done', cycle: stopped.cycle });
  });

  test.each([
    ['succeeds', ['absent', 'absent']],
    ['is forbidden', [null, null]],
  ])('an interrupted scan resumes from its cursor after a repair whose lookup %s (R6, R12)', async (how, deletions) => {
    const { world, mirrored } = await syncedWorld();
    putColumns(world, 20);
    world.advance(2 * 3600);
    await mirrored.sync();
    const wish = { only: ['columns'], full: true, pageSize: 4 } as const;
    await mirrored.sync({ ...wish, maxRequests: 4 });
    const { round } = mirrored.checkpoint('columns');
    const seen = mirrored.seen('columns', 'e1');
    // No feed reports that they are gone. The scan has seen the first one.
    for (const id of ['a1.c1', 'x9']) remove(world.environment(), 'columns', id, 'lost');
    world.beforeRequest = ({ query }) => {
      const hasBegun = mirrored.rows("select 1 from sync_runs where command = 'verify'").length > 0;
      if (how === 'is forbidden' && hasBegun && Array.isArray(query['ids'])) throw new SyncError('forbidden', '403');
    };
    await verified(world, mirrored, { only: ['columns'], repairs: true });
    expect(mirrored.checkpoint('columns').round).toEqual(round);
    expect(mirrored.seen('columns', 'e1')).toEqual(seen);
    const rows = mirrored.rows("select id, deletion from columns where id in ('a1.c1', 'x9') order by id");
    expect(rows.map(({ deletion }) => deletion)).toEqual(deletions);
    world.beforeRequest = () => {};
    await mirrored.sync(wish);
    expect(mirrored.requests('columns')[0]).toMatchObject({ cursor: round?.read?.cursor });
  });

  test('after a page size failed, later reads of the list use the smaller one (R24)', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update columns set name = 'wrong' where asset_id = 'a1'");
    world.beforeRequest = ({ path, query }) => {
      const isLookup = path.endsWith('/columns') && Array.isArray(query['ids']);
      if (isLookup && Number(query['limit']) > 500) throw new SyncError('halve-page', 'the page is too large');
    };
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 1000, repairs: true });
    expect(report).toMatchObject({ equal: true, repair: { not_repaired: [] } });
    expect(mirrored.checkpoint('columns')).toMatchObject({ pageLimit: { rows: 500 }, round: null });
  });

  test('a correct row is not written (R21)', async () => {
    const { world, mirrored } = await syncedWorld();
    const before = mirrored.rows('select id, mirrored_at from columns order by id');
    mirrored.exec("update columns set name = 'wrong' where id = 'a1.c1'");
    await verified(world, mirrored, { repairs: true });
    const after = mirrored.rows('select id, mirrored_at from columns order by id');
    const written = after.filter((row, i) => row['mirrored_at'] !== before[i]?.['mirrored_at']);
    expect(written.map(({ id }) => id)).toEqual(['a1.c1']);
  });

  test('the verdict stays open if a stream was not read completely, even after a partial repair', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update columns set name = 'wrong' where id = 'a1.c1'");
    world.transformPage = (page, { path, query, cursor }) => {
      const isSecondPage = path.endsWith('/columns') && query['ids'] === undefined && cursor !== null;
      if (isSecondPage) throw new SyncError('stream', 'the answer is cut off');
      return page;
    };
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 4, repairs: true });
    expect(report.findings).toMatchObject([{ key: { id: 'a1.c1' }, repaired: true }]);
    expect(report).toMatchObject({ equal: null, streams: [{ status: 'failed', error: 'the answer is cut off' }] });
  });

  test('a removal of more than half is left to a sync (R14)', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
      insert into columns (env_id, id, asset_id, name, mirrored_at) select 'e1', 'x' || i, 'a1', 'x', '' from n`);
    const report = await verified(world, mirrored, { repairs: true });
    expect(report).toMatchObject({
      equal: false,
      repair: { not_repaired: [expect.stringContaining('--allow-shrink')] },
    });
    expect(mirrored.rows("select 1 from columns where deleted_at is null and id like 'x%'")).toHaveLength(60);
  });

  test('more than half of a stream is never removed, however many rows it has (R14)', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 41000)
      insert into columns (env_id, id, asset_id, name, mirrored_at) select 'e1', 'x' || i, 'a1', 'x', '' from n`);
    const report = await verified(world, mirrored, { only: ['columns'], repairs: true });
    expect(report.repair?.not_repaired).toEqual([
      expect.stringContaining('env e1, columns: 41000 rows would be deleted'),
    ]);
    expect(mirrored.rows(LIVE)).toEqual([{ n: 41_009 }]);
    expect(mirrored.rows('select status from sync_runs order by id desc limit 1')).toEqual([{ status: 'problems' }]);
  });

  test('a removal of more than half stays undone if a request of the repair fails (R14)', async () => {
    const { world, mirrored } = await syncedWorld();
    putColumns(world, 60);
    world.advance(10);
    await mirrored.sync();
    world.advance(60);
    mirrored.exec(`update columns set data_type = 'wrong' where id like 'x%';
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
      insert into columns (env_id, id, asset_id, name, mirrored_at) select 'e1', 'y' || i, 'a1', 'y', '' from n`);
    const failOnce = { isOver: false };
    world.beforeRequest = ({ query, cursor }) => {
      if (failOnce.isOver || cursor === null || !Array.isArray(query['ids'])) return;
      failOnce.isOver = true;
      throw new SyncError('stream', 'the answer is cut off');
    };
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 1, repairs: true });
    expect(report.repair?.not_repaired).toEqual([
      expect.stringContaining('200 rows would be deleted'),
      'env e1, columns: the answer is cut off',
    ]);
    expect(report.findings).toHaveLength(60);
    expect(report.streams).toMatchObject([{ possible: 200, extra: 0 }]);
    expect(report.requests).toBeLessThan(200);
  });

  test('held-back rows stay, whether or not they were looked up again (R14)', async () => {
    const { world, mirrored } = await syncedWorld();
    putColumns(world, 120);
    world.advance(10);
    await mirrored.sync();
    for (let n = 0; n < 120; n++) remove(world.environment(), 'columns', `x${n}`, 'lost');
    await mirrored.sync({ full: true });
    // Less than half of the current rows.
    putColumns(world, 240, 'more');
    await mirrored.sync();
    const report = await verified(world, mirrored, { only: ['columns'], pageSize: 2, repairs: true });
    expect(report.streams).toMatchObject([{ extra: 100, possible: 20 }]);
    expect(new Set(report.findings.map(({ what, why, repaired }) => `${what} ${repaired} ${why}`))).toEqual(
      new Set(['extra false held back: `obsync sync --allow-shrink` deletes it']),
    );
    expect(mirrored.rows(LIVE)).toEqual([{ n: 9 + 120 + 240 }]);
  });

  test('only rows found to be extra are removed', async () => {
    const { world, mirrored } = await syncedWorld();
    putColumns(world, 100);
    world.advance(10);
    await mirrored.sync();
    mirrored.exec("update columns set data_type = 'wrong' where asset_id = 'a1'");
    let asked = 0;
    world.beforeRequest = ({ path, query }) => {
      // Revokes the permission after the second check, before the repair.
      if (path.endsWith('/columns') && query['ids'] !== undefined && ++asked === 2)
        world.environment().hidden.add('a1');
    };
    await verified(world, mirrored, { only: ['columns'], repairs: true });
    expect(mirrored.rows(LIVE)).toEqual([{ n: 109 }]);
  });

  test('an asset is restored with all its children, so a second verification finds nothing (R13)', async () => {
    const { world, mirrored } = await syncedWorld();
    world.environment().hidden.add('a2');
    world.advance(3600);
    await mirrored.sync({ full: true });
    world.environment().hidden.delete('a2');
    world.advance(60);
    const repaired = await verified(world, mirrored, { repairs: true });
    expect(repaired).toMatchObject({ equal: true, pending: [] });
    expect(repaired.streams.filter(({ status }) => status === 'repaired').map(({ stream }) => stream)).toEqual([
      'assets',
      'columns',
      'tests',
      'asset_lineage',
      'column_lineage',
      'latest_test_executions',
      'asset_health_scores',
    ]);
    expect(await verified(world, mirrored)).toMatchObject({ equal: true, findings: [], pending: [] });
  });

  test('differences that are ambiguous are repaired too', async () => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec("update asset_health_scores set score = 0.1 where asset_id = 'a1'");
    world.advance(3600);
    const found = await verified(world, mirrored);
    expect(found).toMatchObject({
      equal: true,
      findings: [],
      pending: [{ why: expect.stringContaining('cannot tell yet') }],
    });
    expect(await verified(world, mirrored, { repairs: true })).toMatchObject({ equal: true, pending: [] });
    expect(mirrored.rows('select 1 from asset_health_scores where score = 0.1')).toEqual([]);
  });
});
