import { afterEach, describe, expect, it } from 'vitest';
import type { Mirrored } from '../model/mirrored.ts';
import { putAsset, putAssetEdge, putColumn, putScore, remove } from '../model/place.ts';
import type { World } from '../model/world.ts';
import { inShort, syncedWorld, verified } from './verify-setup.ts';

const open: Mirrored[] = [];
afterEach(() => {
  for (const mirrored of open.splice(0)) mirrored.close();
});

async function synced(ids?: readonly string[]): Promise<{ world: World; mirrored: Mirrored }> {
  const made = await syncedWorld(ids);
  open.push(made.mirrored);
  return made;
}

describe('what cannot be compared is said', () => {
  it('a stream that was never synced to its end is one finding', async () => {
    const { world, mirrored } = await synced();
    mirrored.exec("delete from sync_checkpoints where stream = 'columns'; delete from columns");
    const report = await verified(world, mirrored);
    expect({ equal: report.equal, found: inShort(report) }).toEqual({ equal: false, found: ['unsynced columns'] });
  });

  it('a collection that is not live keeps its rows, and is no difference (R15)', async () => {
    const { world, mirrored } = await synced();
    world.place().notLive.add('latest-test-executions').add('asset-health-scores').add('tests');
    const report = await verified(world, mirrored);
    expect(report).toMatchObject({ equal: true, findings: [] });
    expect(report.streams.filter(({ status }) => status === 'unavailable').map(({ stream }) => stream)).toEqual([
      'tests',
      'latest_test_executions',
      'asset_health_scores',
    ]);
  });

  it('a collection that may not be read leaves the others to be compared, and the answer open (R9)', async () => {
    const { world, mirrored } = await synced();
    world.place().denied.add('tests');
    const report = await verified(world, mirrored);
    expect(report).toMatchObject({ equal: null, findings: [] });
    expect(
      report.streams.filter(({ status }) => status !== 'equal').map(({ stream, status }) => [stream, status]),
    ).toEqual([['tests', 'failed']]);
  });

  it('a row that the mirror cannot take is a difference, with the reason (R20)', async () => {
    const { world, mirrored } = await synced();
    putColumn(world.place(), 'bad', 'a1', { name: 7 });
    await mirrored.sync();
    const report = await verified(world, mirrored);
    expect(report.findings).toMatchObject([
      { what: 'missing', stream: 'columns', key: { id: 'bad' }, why: 'rejected: name is no text' },
    ]);
  });

  it('a removal that is held back is a difference that --repair leaves alone (R14)', async () => {
    const { world, mirrored } = await synced();
    for (let n = 0; n < 120; n++) putColumn(world.place(), `many${n}`, 'a1');
    world.advance(10);
    await mirrored.sync();
    for (let n = 0; n < 120; n++) remove(world.place(), 'columns', `many${n}`, 'lost');
    await mirrored.sync({ full: true });
    // Less than half of what is there by now.
    for (let n = 0; n < 240; n++) putColumn(world.place(), `more${n}`, 'a1');
    await mirrored.sync();
    const report = await verified(world, mirrored, { repairs: true });
    expect(new Set(report.findings.map(({ what, why, repaired }) => `${what} ${repaired} ${why}`))).toEqual(
      new Set(['extra false held back: `obsync sync --allow-shrink` lets it go']),
    );
    expect(report.streams.find(({ stream }) => stream === 'columns')).toMatchObject({ extra: 120 });
  });

  it('a removal of more than half is not for a repair to make (R14)', async () => {
    const { world, mirrored } = await synced();
    mirrored.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
      insert into columns (env_id, id, asset_id, name, mirrored_at) select 'e1', 'x' || i, 'a1', 'x', '' from n`);
    const report = await verified(world, mirrored, { repairs: true });
    expect(report).toMatchObject({
      equal: false,
      repair: { not_repaired: [expect.stringContaining('--allow-shrink')] },
    });
    expect(mirrored.rows("select 1 from columns where deleted_at is null and id like 'x%'")).toHaveLength(60);
  });

  it('a change of permission, of which no feed tells, is a difference (R13)', async () => {
    const { world, mirrored } = await synced();
    world.place().hidden.add('a3');
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

describe('an edge between assets, which has no time,', () => {
  it.each([
    ['is pending if the service has refreshed its environment since', '2026-11-20T06:10:30Z', true],
    ['is a difference if it has not', '2026-11-20T06:09:00Z', false],
  ])('%s', async (_what, last_synced_at, isPending) => {
    const { world, mirrored } = await synced();
    const source = world.source;
    world.source = (...given) => ({
      ...source(...given),
      environments: async () => [{ id: 'e1', name: 'env e1', last_synced_at }],
    });
    putAssetEdge(world.place(), 'a1', 'a3');
    const report = await verified(world, mirrored, { only: ['asset_lineage'], depth: 'ids' });
    const found = ['missing asset_lineage a1 a3'];
    expect([inShort(report), inShort({ findings: report.pending })]).toEqual(isPending ? [[], found] : [found, []]);
  });
});

it('the score of a table that came after the scores were last read is pending (R22)', async () => {
  const { world, mirrored } = await synced();
  putAsset(world.place(), 'a4');
  putScore(world.place(), 'a4', 0.25);
  world.advance(60);
  await mirrored.sync();
  const report = await verified(world, mirrored);
  expect([inShort(report), inShort({ findings: report.pending })]).toEqual([[], ['missing asset_health_scores a4']]);
});

it('an asset that only changed explains no column that is missing (R13)', async () => {
  const { world, mirrored } = await synced();
  mirrored.exec("delete from columns where id = 'a1.c1'");
  putAsset(world.place(), 'a1', { name: 'new' });
  const report = await verified(world, mirrored);
  expect([inShort(report), report.pending.map(({ stream }) => stream)]).toEqual([
    ['missing columns a1.c1'],
    ['assets'],
  ]);
});

describe('a difference is looked at again before it is called one', () => {
  it('pages that shift while they are read show no false one', async () => {
    const { world, mirrored } = await synced();
    const place = world.place();
    world.answer = (page, { path, query, cursor }) => {
      // The first page of columns lacks a row, and shows another as it never was.
      const reads = path.endsWith('/columns') && query['ids'] === undefined && cursor === null;
      if (!reads) return page;
      return { ...page, items: page.items.slice(1).map((item) => ({ ...(item as object), data_type: 'torn' })) };
    };
    const report = await verified(world, mirrored, { pageSize: 4 });
    expect(report).toMatchObject({ equal: true, findings: [], pending: [] });
    expect(place.columns.size).toBe(9);
  });

  it('a sync that is ahead of the answers makes none', async () => {
    const { world, mirrored } = await synced();
    world.answer = (page, { path }) => {
      // The answer is on its way when the source changes and a sync brings that.
      if (path.endsWith('/columns')) {
        world.advance(1);
        putColumn(world.place(), 'a1.c1', 'a1', { data_type: String(world.nowMs) });
        const { data_type, synced_at } = world.place().columns.get('a1.c1')?.item ?? {};
        const at = String(synced_at).replace('Z', '000Z');
        mirrored.exec(`update columns set data_type = '${data_type}', synced_at = '${at}' where id = 'a1.c1'`);
      }
      return page;
    };
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report).toMatchObject({ equal: true, findings: [], pending: [] });
    expect(report.streams).toMatchObject([{ requests: 2 }]);
  });

  it('a cursor that died has the read start anew, and nothing counts twice (R7)', async () => {
    const { world, mirrored } = await synced();
    mirrored.exec("update columns set name = 'wrong' where id = 'a1.c1'");
    putColumn(world.place(), 'a1.c2', 'a1', { name: 'new' });
    let died = false;
    world.before = ({ path, cursor }) => {
      if (path.endsWith('/columns') && cursor !== null && !died) {
        died = true;
        world.epoch += 1;
      }
    };
    const report = await verified(world, mirrored, { pageSize: 4, only: ['columns'] });
    expect(report.streams).toMatchObject([{ rows: 9, unequal: 1, missing: 0, extra: 0, pending: 1 }]);
  });

  it('in so many requests; what is left is counted and said', async () => {
    const { world, mirrored } = await synced();
    for (let n = 0; n < 3000; n++) putColumn(world.place(), `${'long'.repeat(60)}${n}`, 'a1');
    world.advance(3600);
    await mirrored.sync();
    mirrored.exec("update columns set name = 'wrong'");
    const report = await verified(world, mirrored, { only: ['columns'] });
    expect(report.requests).toBe(1 + 2 + 50);
    const [columns] = report.streams;
    expect(columns).toMatchObject({ status: 'different', unequal: 3009 });
    expect(columns?.not_looked_at_again).toBeGreaterThan(1000);
  });
});

describe('--max-requests', () => {
  it('stops cleanly, with what was found so far and what was not looked at', async () => {
    const { world, mirrored } = await synced();
    mirrored.exec("delete from assets where id = 'b1'; update columns set name = 'wrong' where id = 'a1.c1'");
    const report = await verified(world, mirrored, { maxRequests: 6 });
    expect(report).toMatchObject({ equal: false, recovery: 'budget', requests: 6 });
    expect(inShort(report)).toEqual(['missing assets b1', 'unequal columns a1.c1 (name)']);
    expect(report.findings.map((finding) => finding.looked_again)).toEqual([true, false]);
    expect(report.streams.filter(({ status }) => status === 'stopped').map(({ stream }) => stream)).toEqual([
      'columns',
      'tests',
      'asset_lineage',
      'column_lineage',
      'latest_test_executions',
      'asset_health_scores',
    ]);
  });
});

describe('counting the tables', () => {
  /** Eight databases of eight schemas with two tables each. */
  async function wide(): Promise<{ world: World; mirrored: Mirrored }> {
    const { world, mirrored } = await synced();
    for (let n = 0; n < 128; n++)
      putAsset(world.place(), `t${n}`, { db_name: `db${n % 8}`, schema_name: `s${Math.floor(n / 8) % 8}` });
    world.advance(7200);
    await mirrored.sync();
    world.advance(60);
    return { world, mirrored };
  }

  it('closes in on the one schema that differs, in 12 requests', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where id = 't21'");
    const from = world.log.length;
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t21']);
    const asked = world.log.slice(from).map(({ path }) => path.replace('e1/', ''));
    expect(asked.filter((path) => path === 'assets/tables')).toHaveLength(1);
    expect(report.requests).toBe(12);
    expect(await verified(world, mirrored, { depth: 'count', repairs: true })).toMatchObject({ equal: true });
    expect(await verified(world, mirrored)).toMatchObject({ equal: true, findings: [] });
  });

  it('finds tables of a database that the mirror does not know', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where db_name = 'db3'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(report.streams).toMatchObject([{ stream: 'assets', missing: 16, extra: 0 }]);
  });

  it('finds a table that the mirror holds in another schema', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("update assets set schema_name = 's0' where id = 't16'; delete from assets where id = 't24'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t24', 'unequal table_assets t16 (schema_name)']);
  });

  it('reads the ids of the tables where the source does not count (R15)', async () => {
    const { world, mirrored } = await wide();
    world.place().notLive.add('asset-health-scores');
    mirrored.exec("delete from assets where id = 't21'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t21']);
    expect(report.not_looked_at[0]).toMatch(/does not say \(404\)/);
  });
});

describe('--repair', () => {
  it('is a run of its own that breaks no pass (R6)', async () => {
    const { world, mirrored } = await synced();
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
    expect(await mirrored.sync()).toMatchObject({ status: 'done', pass: stopped.pass });
  });

  it('writes no row that is right already (R21)', async () => {
    const { world, mirrored } = await synced();
    const before = mirrored.rows('select id, mirrored_at from columns order by id');
    mirrored.exec("update columns set name = 'wrong' where id = 'a1.c1'");
    await verified(world, mirrored, { repairs: true });
    const after = mirrored.rows('select id, mirrored_at from columns order by id');
    const written = after.filter((row, i) => row['mirrored_at'] !== before[i]?.['mirrored_at']);
    expect(written.map(({ id }) => id)).toEqual(['a1.c1']);
  });
});
