import { describe, expect, test } from 'vitest';
import { differenceOf } from '../../../src/core/decide/difference.ts';
import { type DecodedRow, decodePage } from '../../../src/core/decode/decode.ts';
import type { Row, Stream } from '../../../src/core/stream.ts';
import { entryNamed } from '../../support/catalogue.ts';

const TABLE = { id: 'a', name: 'n', kind: 'table', source_type: 'dbt', tags: ['x'], synced_at: '2026-11-20T04:10:00Z' };
const TYPED = { data_platform: 'pg', db_name: 'd', schema_name: 's', table_name: 't', materialization: 'view' };

function decoded(name: Stream['name'], item: object): DecodedRow {
  return decodePage(entryNamed(name), [item]).rows[0] as DecodedRow;
}

const HELD: Row = {
  ...decoded('assets', TABLE).row,
  ...TYPED,
  ...{ bi_platform: null, bi_type: null, url: null, extra: null, deleted_at: null, deletion: null },
};

const between = (name: Stream['name'], row: Row | undefined, item: object) =>
  differenceOf(entryNamed(name), row && { row, parts: [] }, decoded(name, item), 'rows');

describe('differenceOf', () => {
  test('an asset is compared by its common fields and those of the other kinds, not by the typed ones', () => {
    expect(between('assets', HELD, TABLE)).toBeNull();
    expect(between('assets', { ...HELD, name: 'm', tags: null }, TABLE)?.fields).toEqual(['name', 'tags']);
    expect(between('assets', { ...HELD, url: 'u' }, TABLE)?.fields).toEqual(['url']);
    // The typed stream compares the fields that it writes, including `extra` (R19).
    expect(between('assets', { ...HELD, schema_name: 'other', extra: '{}' }, TABLE)).toBeNull();
    expect(between('assets', { ...HELD, kind: 'bi' }, TABLE)?.fields).toEqual(['kind']);
  });

  test('a live asset of its kind is compared by the typed fields and `extra`, any other not at all', () => {
    expect(between('table_assets', HELD, { ...TABLE, ...TYPED })).toBeNull();
    expect(between('table_assets', { ...HELD, db_name: null, name: 'm' }, { ...TABLE, ...TYPED })?.fields).toEqual([
      'db_name',
    ]);
    expect(between('table_assets', HELD, { ...TABLE, ...TYPED, new: 1 })?.fields).toEqual(['extra']);
    expect(between('table_assets', undefined, { ...TABLE, ...TYPED })).toBeNull();
    expect(between('table_assets', { ...HELD, kind: 'bi', db_name: null }, { ...TABLE, ...TYPED })).toBeNull();
  });

  test('a row that the mirror lacks or has as deleted is missing', () => {
    expect(between('assets', undefined, TABLE)).toEqual({ what: 'missing', fields: [] });
    expect(between('assets', { ...HELD, deleted_at: '2026', deletion: 'absent' }, TABLE)?.what).toBe('missing');
  });

  test('at a smaller depth than `rows`, only missing rows count as differences', () => {
    const shown = decoded('assets', { ...TABLE, name: 'm' });
    expect(differenceOf(entryNamed('assets'), { row: HELD, parts: [] }, shown, 'ids')).toBeNull();
    expect(differenceOf(entryNamed('assets'), undefined, shown, 'ids')?.what).toBe('missing');
  });
});

describe('differenceOf a row with parts', () => {
  const total = { score: 1, test_count: 2, bucket_at: '2026-11-20T04:00:00Z' };
  const shown = decoded('asset_health_scores', {
    asset_id: 'a',
    total,
    dimensions: ['x', 'y'].map((dimension) => ({ dimension, ...total })),
  });
  const scores = entryNamed('asset_health_scores');
  const dimensions = shown.parts[0] as Row[];
  const extra = { ...(dimensions[0] as Row), dimension: 'z' };

  test.each([
    ['are equal make no difference', dimensions, []],
    ['are equal in another order make no difference', dimensions.toReversed(), []],
    [
      'differ are named',
      dimensions.map((row) => (row['dimension'] === 'y' ? { ...row, score: 0 } : row)),
      ['dimensions.y'],
    ],
    ['are missing are named', dimensions.slice(1), ['dimensions.x']],
    ['are superfluous are named', [...dimensions, extra], ['dimensions.z']],
  ])('parts that %s', (_how, parts, fields) => {
    expect(differenceOf(scores, { row: shown.row, parts: [parts] }, shown, 'rows')?.fields ?? []).toEqual(fields);
  });

  test('parts without their own row count as a missing row', () => {
    const torn = { row: { asset_id: 'a' }, parts: [dimensions], partial: true } as const;
    expect(differenceOf(scores, torn, shown, 'ids')?.what).toBe('missing');
  });
});
