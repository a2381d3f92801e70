import { describe, expect, test } from 'vitest';
import { putAsset } from '../model/environment.ts';
import type { TestMirror } from '../model/test-mirror.ts';
import type { World } from '../model/world.ts';
import { inShort, syncedWorld, verified } from './setup.ts';

describe('verify --depth count', () => {
  /** Eight databases of eight schemas with two tables each. */
  async function wide(): Promise<{ world: World; mirrored: TestMirror }> {
    const { world, mirrored } = await syncedWorld();
    for (let n = 0; n < 128; n++)
      putAsset(world.environment(), `t${n}`, { db_name: `db${n % 8}`, schema_name: `s${Math.floor(n / 8) % 8}` });
    world.advance(7200);
    await mirrored.sync();
    world.advance(60);
    return { world, mirrored };
  }

  test('the one schema that differs is found in 12 requests plus those that confirm it', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where id = 't21'");
    const from = world.log.length;
    const report = await verified(world, mirrored, { depth: 'count', pageSize: 10 });
    expect(inShort(report)).toEqual(['missing assets t21']);
    const asked = world.log.slice(from).map(({ path }) => path.replace('e1/', ''));
    expect(asked.filter((path) => path === 'assets/tables')).toHaveLength(1);
    expect(report.requests).toBe(12 + 4);
    expect(report.streams).toHaveLength(1);
    expect(await verified(world, mirrored, { depth: 'count', repairs: true })).toMatchObject({ equal: true });
    expect(await verified(world, mirrored)).toMatchObject({ equal: true, findings: [] });
  });

  test('the ids of all tables are read if further counting would take more requests', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where id in ('t21', 't42', 't63', 't84')");
    for (const [pageSize, most] of [
      [2000, 2 + 1],
      [20, 2 + 2 * 7],
    ] as const) {
      const report = await verified(world, mirrored, { depth: 'count', pageSize });
      expect(inShort(report)).toEqual([
        'missing assets t21',
        'missing assets t42',
        'missing assets t63',
        'missing assets t84',
      ]);
      // Plus the feed of assets before and after, and four lookups by id.
      expect(report.requests).toBeLessThanOrEqual(most + 2 + 1 + 2);
    }
  });

  test('tables of a database that the mirror lacks are found', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where db_name = 'db3'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(report.streams).toMatchObject([{ stream: 'assets', missing: 16, extra: 0 }]);
  });

  test('a table that the mirror has in another schema is found', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("update assets set schema_name = 's0' where id = 't16'; delete from assets where id = 't24'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t24', 'unequal table_assets t16 (schema_name)']);
  });

  test('the ids of the tables are read if the source doesn’t count (R15)', async () => {
    const { world, mirrored } = await wide();
    world.environment().notLive.add('asset-health-scores');
    mirrored.exec("delete from assets where id = 't21'");
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t21']);
    expect(report.not_looked_at[0]).toMatch(/the source does not count them \(404\)/);
  });

  test('the ids of the tables are compared if the source stops counting midway (R15)', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where id = 't21'");
    let counts = 0;
    world.beforeRequest = ({ path }) => {
      if (path.endsWith('/aggregate') && ++counts === 2) world.environment().notLive.add('asset-health-scores');
    };
    const report = await verified(world, mirrored, { depth: 'count', pageSize: 10 });
    expect(counts).toBe(2);
    expect(inShort(report)).toEqual(['missing assets t21']);
    expect(report).toMatchObject({ equal: false, streams: [{ stream: 'assets', status: 'different', rows: 131 }] });
    expect(report.not_looked_at[0]).toMatch(/the source does not count them \(404\)/);
  });

  test('the assets stream is reported once, and a table moved at the source since is pending once', async () => {
    const { world, mirrored } = await wide();
    mirrored.exec("delete from assets where id = 't24'");
    putAsset(world.environment(), 't16', { db_name: 'db0', schema_name: 's0' });
    const report = await verified(world, mirrored, { depth: 'count' });
    expect(inShort(report)).toEqual(['missing assets t24']);
    expect(inShort({ findings: report.pending })).toEqual(['unequal table_assets t16 (schema_name)']);
    expect(report.streams).toMatchObject([
      { stream: 'assets', missing: 1, pending: 0 },
      { stream: 'table_assets', unequal: 0, pending: 1 },
    ]);
  });
});
