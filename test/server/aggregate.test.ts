import { describe, expect, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { parseDimensionWeights } from '../../src/server/dimension-weights.ts';
import { asset, insert, NOW, serve } from './fixture.ts';

const CARD = 'e/asset-health-scores/aggregate';
const ZERO = { total: { score: 0, test_count: 0, bucket_at: null }, dimensions: [] };
const HOUR = '2026-11-20T11:00:00.000000Z';
/** Exactly seven days before the mirror's clock, to the microsecond. */
const WEEK_AGO = '2026-11-13T12:00:00.000000Z';
const STALE = '2026-11-13T11:59:59.999999Z';

const dimension = (asset_id: string, name: string, score: number, test_count: number, bucket_at = HOUR) => ({
  env_id: 'e',
  asset_id,
  dimension: name,
  score,
  test_count,
  bucket_at,
  mirrored_at: NOW,
});

const TABLES = [
  asset('orders', { db_name: 'raw', schema_name: 's1', materialization: 'table', path: 'shop/core', tags: '["pii"]' }),
  asset('items', { db_name: 'raw', schema_name: 's2', path: 'shop/core/items', source_type: 'fivetran' }),
  asset('users', { db_name: 'prod', schema_name: 's1', path: 'shop/corex', tags: '["pii","x"]' }),
  asset('quiet', { db_name: 'quiet' }),
  asset('stale', { db_name: 'stale' }),
];

const OTHERS = [
  // Having all fields of a table does not make it one.
  { ...asset('dash', { bi_platform: 'looker', bi_type: 'look', path: 'shop/core' }), kind: 'bi' },
  asset('untyped', { kind: 'table' }),
  asset('gone', { deleted_at: NOW, deletion: 'tombstone' }),
  asset('elsewhere', { env_id: 'f' }),
];

const fill = ({ db }: MirrorFile) => {
  insert(db, environments, { id: 'f', name: 'F', mirrored_at: NOW });
  insert(db, assets, [...TABLES, ...OTHERS]);
  const dimensions = [
    dimension('orders', 'completeness', 1, 1),
    dimension('orders', 'validity', 0.5, 2, '2026-11-20T09:00:00.000000Z'),
    dimension('items', 'completeness', 0.2, 3, WEEK_AGO),
    dimension('users', 'accuracy', 0.75, 4, STALE),
    dimension('users', 'novelty', 0.5, 1),
    dimension('stale', 'completeness', 1, 9, STALE),
    dimension('dash', 'completeness', 0, 100),
    dimension('gone', 'completeness', 0, 100),
    { ...dimension('elsewhere', 'completeness', 0, 100), env_id: 'f' },
  ];
  insert(db, assetHealthScoreDimensions, dimensions);
  const totals = dimensions.map(({ dimension: _, ...total }) => total);
  db.insert(assetHealthScores).values(totals).onConflictDoNothing().run();
};

describe('the aggregate (endpoint 11)', () => {
  const { get } = serve(fill);

  test('without filters it covers exactly the live table assets (endpoint 11, rule 1)', async () => {
    const { status, body } = await get(CARD);
    expect([status, body.matched_count]).toEqual([200, TABLES.length]);
    expect(body.dimensions.map((of: { dimension: string }) => of.dimension)).toEqual([
      'completeness',
      'novelty',
      'validity',
    ]);
  });

  test.each([
    ['ids=orders&ids=users', 2],
    ['source_types=fivetran', 1],
    ['source_types=fivetran&source_types=dbt', 5],
    ['tags=pii', 2],
    ['tags=x&tags=none', 1],
    ['db_names=raw', 2],
    ['schema_names=s1', 2],
    ['materializations=table', 1],
    ['path=shop/core', 2],
    ['path=shop/core/', 2],
    ['path=shop', 3],
    ['db_names=raw&schema_names=s1', 1],
    ['ids=orders&ids=users&tags=x', 1],
    ['ids=orders&path=shop/corex', 0],
    ['db_names=none', 0],
  ])(
    'an asset must match every filter, by any of its values (endpoint 11, rule 1): %s matches %i',
    async (query, matched) => {
      expect((await get(`${CARD}?${query}`)).body.matched_count).toBe(matched);
    },
  );

  test('the error lists exactly the ids that are not table assets (endpoint 11, rule 2)', async () => {
    const ids = ['orders', 'dash', 'nothing', 'gone', 'elsewhere', 'untyped', 'a b/ü'];
    const query = ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&');
    const { status, body } = await get(`${CARD}?${query}`);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toBe('Not table assets: dash, nothing, gone, elsewhere, untyped, a b/ü');
  });

  test('the error lists every invalid id, however many there are (endpoint 11, rule 2)', async () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `no-such-asset-${i}`);
    const { body } = await get(`${CARD}?ids=${ids.join('&ids=')}`);
    expect(new Set(body.error.message.replace('Not table assets: ', '').split(', '))).toEqual(new Set(ids));
  });

  test('a table asset excluded by another filter is not an error (endpoint 11, rule 2)', async () => {
    const { status, body } = await get(`${CARD}?ids=orders&db_names=none`);
    expect([status, body]).toEqual([200, { matched_count: 0, ...ZERO }]);
  });

  test('the score of a dimension is the mean of the assets’ scores, weighted by test_count (endpoint 11, rule 3)', async () => {
    const { body } = await get(`${CARD}?db_names=raw`);
    const [completeness, validity] = body.dimensions;
    expect(completeness).toEqual({
      dimension: 'completeness',
      score: expect.closeTo((1 * 1 + 0.2 * 3) / 4, 12),
      test_count: 4,
      bucket_at: HOUR,
    });
    expect(validity).toEqual({
      dimension: 'validity',
      score: 0.5,
      test_count: 2,
      bucket_at: '2026-11-20T09:00:00.000000Z',
    });
  });

  test('the total weights all dimensions equally, counts all results and has the latest bucket (endpoint 11, rule 3)', async () => {
    const { body } = await get(`${CARD}?db_names=raw`);
    expect(body).toMatchObject({
      matched_count: 2,
      total: { score: expect.closeTo((0.4 + 0.5) / 2, 12), test_count: 6, bucket_at: HOUR },
    });
  });

  test('scores of exactly 7 days ago count; a dimension with only older ones is left out (endpoint 11, rule 3)', async () => {
    expect((await get(`${CARD}?ids=items`)).body.dimensions).toMatchObject([{ bucket_at: WEEK_AGO, test_count: 3 }]);
    expect((await get(`${CARD}?ids=users`)).body).toMatchObject({
      matched_count: 1,
      total: { score: 0.5, test_count: 1 },
      dimensions: [{ dimension: 'novelty' }],
    });
  });

  test.each([
    ['nothing matches', 'db_names=none', 0],
    ['the matches have no results', 'ids=quiet', 1],
    ['the matches have no results in the window', 'ids=stale&ids=quiet', 2],
  ])('the total is zero if %s (endpoint 11, rule 4)', async (_, query, matched_count) => {
    expect((await get(`${CARD}?${query}`)).body).toEqual({ matched_count, ...ZERO });
  });

  test('the score of a single matching asset is the asset’s own score', async () => {
    const { body } = await get(`${CARD}?ids=orders`);
    expect(body.total).toEqual({ score: 0.75, test_count: 3, bucket_at: HOUR });
  });

  test('assets of another environment are not counted', async () => {
    const { body } = await get('f/asset-health-scores/aggregate');
    expect(body).toMatchObject({ matched_count: 1, total: { score: 0, test_count: 100 } });
  });

  test('parameters of pages and order are refused, because the aggregate has none', async () => {
    for (const query of ['limit=1', 'cursor=x', 'order_by=id', 'direction=asc', 'synced_since=2026-11-01T00:00:00Z'])
      expect((await get(`${CARD}?${query}`)).status).toBe(422);
  });
});

describe('--dimension-weights', () => {
  const weights = new Map<string, number>();
  const { get } = serve(fill, { weights });

  /** The aggregate for `orders` with this option. */
  const cardBy = async (text: string) => {
    weights.clear();
    for (const [name, weight] of parseDimensionWeights(text)) weights.set(name, weight);
    return (await get(`${CARD}?ids=orders`)).body;
  };
  const scoreOf = async (text: string) => (await cardBy(text)).total;

  test('the weights apply to the dimensions of the total, and the default is 1', async () => {
    expect((await scoreOf('completeness=3')).score).toBeCloseTo((3 * 1 + 1 * 0.5) / 4, 12);
    expect((await scoreOf('validity=0.5, completeness=1.5')).score).toBeCloseTo((1.5 * 1 + 0.5 * 0.5) / 2, 12);
    expect((await scoreOf('nothing=9')).score).toBe(0.75);
  });

  test('a dimension of weight 0 does not count; if all have weight 0, the score is 0', async () => {
    expect(await scoreOf('validity=0')).toEqual({ score: 1, test_count: 3, bucket_at: HOUR });
    expect((await scoreOf('validity=0,completeness=0')).score).toBe(0);
  });

  test('the weights do not change the dimensions themselves', async () => {
    expect((await cardBy('completeness=7')).dimensions).toMatchObject([{ score: 1 }, { score: 0.5 }]);
  });

  test.each([
    '',
    'completeness',
    'completeness=',
    '=1',
    'completeness=-1',
    'completeness=x',
    'a=1,',
    'a=1;b=2',
    'a=1e9',
  ])('invalid weights are one clear usage error: "%s"', (text) => {
    expect(() => parseDimensionWeights(text)).toThrow(/^--dimension-weights .*such as completeness=2,freshness=0.5$/);
  });
});
