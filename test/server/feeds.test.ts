import { describe, expect, test } from 'vitest';
import { assets, columnLineage, columns } from '../../schema/assets.ts';
import { tests } from '../../schema/tests.ts';
import { asset, column, idsOf, NOW, serve, test_ } from './fixture.ts';

const gone = (deleted_at: string) => ({ deleted_at, deletion: 'tombstone' as const });
const day = (of: string) => `2026-${of}T00:00:00.000000Z`;

describe('feeds', () => {
  const served = () =>
    serve(({ db }) => {
      const rows = [
        asset('before', { synced_at: day('11-01') }),
        asset('at', { synced_at: day('11-02') }),
        asset('after', { synced_at: day('11-03') }),
        asset('gone before', { ...gone(day('11-01')), synced_at: day('11-03') }),
        asset('gone at', gone(day('11-02'))),
        asset('gone after', { ...gone(day('11-03')), deletion: 'absent' }),
        asset('long ago', { synced_at: day('08-01') }),
        asset('gone long ago', gone(day('08-01'))),
      ];
      db.insert(assets).values(rows).run();
    });

  test('synced_since is inclusive and shows live rows alone, by time', async () => {
    const { items } = await served().all('e/assets?synced_since=2026-11-02T00:00:00Z');
    expect(idsOf(items)).toEqual(['at', 'after']);
    expect(items.some((item) => 'deleted_at' in item)).toBe(false);
  });

  test('deleted_since is inclusive and shows deleted rows alone, with the time they went', async () => {
    const { items } = await served().all('e/assets?deleted_since=2026-11-02T00:00:00Z&limit=1');
    expect(items.map(({ id, deleted_at }) => [id, deleted_at])).toEqual([
      ['gone at', day('11-02')],
      ['gone after', day('11-03')],
    ]);
  });

  test('a scan shows no deleted row', async () => {
    const { items } = await served().all('e/assets');
    expect(idsOf(items)).toEqual(['after', 'at', 'before', 'long ago']);
    expect(items.some((item) => 'deleted_at' in item)).toBe(false);
  });

  test('a bound older than 90 days is treated as 90 days ago', async () => {
    const { all } = served();
    expect(idsOf((await all('e/assets?synced_since=2020-01-01T00:00:00Z')).items)).not.toContain('long ago');
    expect(idsOf((await all('e/assets?deleted_since=2020-01-01T00:00:00Z')).items)).not.toContain('gone long ago');
  });

  test('bounds are compared as instants, whatever their zone and digits', async () => {
    const { all } = served();
    const same = ['2026-11-02T00:00:00', '2026-11-02T01:00:00%2B01:00', '2026-11-01T23:59:59.999999900Z'];
    for (const since of same)
      expect(idsOf((await all(`e/assets?synced_since=${since}`)).items)).toEqual(['at', 'after']);
    expect(idsOf((await all('e/assets?synced_since=2026-11-02T00:00:00.000001Z')).items)).toEqual(['after']);
  });

  test('both feeds at once are refused', async () => {
    const { status, body } = await served().get(
      'e/assets?synced_since=2026-11-02T00:00:00Z&deleted_since=2026-11-02T00:00:00Z',
    );
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
  });

  test('a feed ignores order_by and direction', async () => {
    const { items } = await served().all(
      'e/assets?synced_since=2026-11-01T00:00:00Z&order_by=id&direction=desc&limit=1',
    );
    expect(idsOf(items)).toEqual(['before', 'at', 'after']);
  });

  test('filters apply in feeds', async () => {
    const { all } = served();
    expect(idsOf((await all('e/assets?deleted_since=2026-11-01T00:00:00Z&ids=gone%20at&ids=at')).items)).toEqual([
      'gone at',
    ]);
  });

  test.each(['asset-lineage', 'latest-test-executions', 'asset-health-scores'])('%s has no feeds', async (path) => {
    const { status, body } = await served().get(`e/${path}?synced_since=2026-11-02T00:00:00Z`);
    expect([status, body.error.code]).toEqual([422, 'invalid_request']);
  });
});

describe('feeds of tests', () => {
  const served = () =>
    serve(({ db }) =>
      db
        .insert(tests)
        .values([test_('on'), test_('off', { disabled: 1 }), test_('unknown', { disabled: null })])
        .run(),
    );

  test('a scan shows enabled tests alone, or disabled ones alone', async () => {
    const { all } = served();
    expect(idsOf((await all('e/tests')).items)).toEqual(['on', 'unknown']);
    expect(idsOf((await all('e/tests?disabled=false')).items)).toEqual(['on', 'unknown']);
    expect((await all('e/tests?disabled=true')).items).toMatchObject([{ id: 'off', disabled: true }]);
  });

  test('a feed shows both, whatever disabled says', async () => {
    const { all } = served();
    for (const query of ['', '&disabled=true', '&disabled=false']) {
      expect(idsOf((await all(`e/tests?synced_since=2026-11-01T00:00:00Z${query}`)).items)).toEqual([
        'off',
        'on',
        'unknown',
      ]);
    }
  });
});

describe('column lineage', () => {
  const edge = (up: string, down: string) => ({
    env_id: 'e',
    upstream_column_id: up,
    downstream_column_id: down,
    mirrored_at: NOW,
  });
  const served = () =>
    serve(({ db }) => {
      const rows = [
        column('old', { synced_at: day('11-01') }),
        column('new', { synced_at: day('11-05'), asset_id: 'b' }),
        column('dead', gone(day('11-05'))),
      ];
      db.insert(columns).values(rows).run();
      db.insert(columnLineage)
        .values([edge('new', 'old'), edge('unseen', 'new'), edge('old', 'new'), edge('old', 'dead')])
        .run();
    });

  test('its upserts feed goes by the downstream column', async () => {
    const { items } = await served().all('e/column-lineage?synced_since=2026-11-02T00:00:00Z&limit=1');
    expect(items).toEqual([
      { upstream_column_id: 'old', downstream_column_id: 'new' },
      { upstream_column_id: 'unseen', downstream_column_id: 'new' },
    ]);
  });

  test('its tombstones feed goes by the downstream column', async () => {
    const { items } = await served().all('e/column-lineage?deleted_since=2026-11-02T00:00:00Z');
    expect(items).toEqual([{ upstream_column_id: 'old', downstream_column_id: 'dead' }]);
  });

  test('a scan shows the edges of live columns, also from columns nobody sees', async () => {
    expect((await served().all('e/column-lineage')).items).toHaveLength(3);
  });

  test('its filters match the downstream end', async () => {
    const { all } = served();
    expect((await all('e/column-lineage?column_ids=old')).items).toEqual([
      { upstream_column_id: 'new', downstream_column_id: 'old' },
    ]);
    expect((await all('e/column-lineage?asset_ids=b&limit=1')).items).toHaveLength(2);
  });
});
