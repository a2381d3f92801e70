import { beforeEach, describe, expect, test } from 'vitest';
import { assets, columns, environments } from '../../schema/assets.ts';
import { readerNumber } from '../../src/server/visibility.ts';
import { asset, bearer, column, insert, NOW, restricted, serve } from './fixture.ts';

const KEYS = [
  restricted('finance', { paths: ['finance'] }),
  restricted('sales', { paths: ['sales'] }),
  restricted('both', { paths: ['finance', 'sales'], assetIds: ['a', 'c'] }),
  restricted('ids', { assetIds: ['a', 'not-mirrored'] }),
];
const later = (seconds: number) => NOW.replace('12:00:00', `12:00:0${seconds}`);

describe('the cached list of assets that a restricted token sees', () => {
  let keys = KEYS;
  const { get, writing, mirror } = serve(
    ({ db }) => {
      const at = (path: string) => ({ path, mirrored_at: NOW });
      insert(db, assets, [asset('a', at('finance/x')), asset('b', at('sales')), asset('c', at('sales/y'))]);
      insert(db, assets, asset('a', { env_id: 'f', path: 'sales', mirrored_at: NOW }));
      insert(db, columns, [
        column('ca', { asset_id: 'a' }),
        column('cb', { asset_id: 'b' }),
        column('cn', { asset_id: 'not-mirrored' }),
      ]);
      insert(db, environments, { id: 'f', name: 'Other', mirrored_at: NOW });
    },
    { keys: () => keys },
  );
  beforeEach(() => {
    keys = KEYS;
  });
  const seen = async (token: string, list = 'assets', env = 'e') => {
    const { body } = await get(`${env}/${list}`, bearer(token));
    return body.items.map(({ id }: { id: string }) => id).join(' ');
  };
  /** As every commit does (R21). */
  const commit = (seconds: number, sql: string) =>
    writing.connection.transaction(() => {
      writing.connection.prepare(sql).run({ now: later(seconds) });
      writing.connection.prepare('update mirror_environments set mirrored_at = ?').run(later(seconds));
    })();

  test('it is cached per token and environment', async () => {
    for (let i = 0; i < 2; i += 1) {
      expect([await seen('finance'), await seen('sales'), await seen('both'), await seen('ids')]).toEqual([
        'a',
        'b c',
        'a c',
        'a',
      ]);
      expect([await seen('finance', 'assets', 'f'), await seen('sales', 'assets', 'f')]).toEqual(['', 'a']);
      expect([await seen('finance', 'columns'), await seen('ids', 'columns')]).toEqual(['ca', 'ca cn']);
    }
  });

  test('it is read once until the mirror’s clock moves', async () => {
    const changes = () => mirror.connection.prepare('select total_changes() as n').get();
    await seen('finance');
    const before = changes();
    expect(await seen('finance')).toBe('a');
    expect(changes()).toEqual(before);
    commit(1, "update columns set name = 'other', mirrored_at = @now where id = 'ca'");
    expect(await seen('finance')).toBe('a');
    expect(changes()).not.toEqual(before);
  });

  test('it is updated when an asset is added, moved, deleted or restored', async () => {
    expect([await seen('finance'), await seen('sales')]).toEqual(['a', 'b c']);
    commit(2, "update assets set path = 'finance', mirrored_at = @now where env_id = 'e' and id = 'b'");
    expect([await seen('finance'), await seen('sales'), await seen('finance', 'columns')]).toEqual([
      'a b',
      'c',
      'ca cb',
    ]);
    commit(3, "update assets set deleted_at = @now, mirrored_at = @now where env_id = 'e' and id = 'a'");
    expect(await seen('finance')).toBe('b');
    expect(await seen('finance', 'assets?deleted_since=2026-11-01T00:00:00Z')).toBe('a');
    commit(
      4,
      "update assets set deleted_at = null, path = 'sales', mirrored_at = @now where env_id = 'e' and id = 'a'",
    );
    expect([await seen('finance'), await seen('sales'), await seen('both')]).toEqual(['b', 'a c', 'a c']);
    commit(
      5,
      `insert into assets (env_id, id, name, kind, source_type, path, mirrored_at)
       values ('e', 'd', 'd', 'other', 'dbt', 'finance/new', @now)`,
    );
    expect([await seen('finance'), await seen('both'), await seen('ids')]).toEqual(['b d', 'a c', 'a']);
  });

  test('new restrictions of a token apply from the next request on', async () => {
    keys = [restricted('finance', { paths: ['sales'] })];
    expect(await seen('finance')).toBe('a c');
    keys = [restricted('finance', { assetIds: ['c'] })];
    expect(await seen('finance')).toBe('c');
    keys = KEYS;
    expect(await seen('finance')).toBe('b d');
  });

  test('it is cached for every token of a typical server', async () => {
    keys = Array.from({ length: 250 }, (_, i) => restricted(`t${i}`, { paths: [i % 2 === 0 ? 'finance' : 'sales'] }));
    for (const i of [...keys.keys(), 0, 1]) expect(await seen(`t${i}`)).toBe(i % 2 === 0 ? 'b d' : 'a c');
    const kept = mirror.connection.prepare('select count(*) as n from visible_kept').get() as { n: number };
    expect(kept.n).toBeLessThanOrEqual(100);
  });

  test('the least recently used token is evicted', async () => {
    keys = Array.from({ length: 101 }, (_, i) => restricted(`u${i}`, { paths: ['sales'] }));
    const kept = (table: string) =>
      mirror.connection.prepare(`select distinct reader from ${table} order by 1`).pluck().all();
    for (const i of [...keys.keys()].slice(0, 100)) await seen(`u${i}`);
    await seen('u0');
    await seen('u100');
    const expected = keys.filter((_, i) => i !== 1).map(({ reader }) => readerNumber(reader));
    expect(kept('visible_kept')).toEqual(expected.sort((a, b) => a - b));
    expect(kept('visible_assets')).toEqual(kept('visible_kept'));
  });

  test('it is not read for a missing environment or without an environment', async () => {
    const asked = ['none/assets', 'none/assets/a', 'none/asset-health-scores/aggregate', 'environments'];
    const statuses = [];
    for (const path of asked) statuses.push((await get(path, { authorization: 'Bearer sales' })).status);
    expect(statuses).toEqual([404, 404, 404, 200]);
    const kept = mirror.connection.prepare("select count(*) from visible_kept where env_id not in ('e', 'f')");
    expect(kept.pluck().get()).toBe(0);
  });

  test('it is cached even if the request is rejected', async () => {
    keys = [restricted('new', { paths: ['sales'] })];
    const { status } = await get('e/assets/none', { authorization: 'Bearer new' });
    expect([status, await seen('new')]).toEqual([404, 'a c']);
  });

  test('it is read once for a token restricted only by ids, whatever is committed', async () => {
    const changes = () => mirror.connection.prepare('select total_changes() as n').get();
    expect(await seen('ids')).toBe('a');
    const before = changes();
    commit(6, "update assets set name = 'other', mirrored_at = @now where env_id = 'e' and id = 'a'");
    expect(await seen('ids')).toBe('a');
    expect(changes()).toEqual(before);
  });
});
