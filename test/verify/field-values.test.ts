import { expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode/decode.ts';
import { shortenPair } from '../../src/core/shorten-pair.ts';
import type { Row } from '../../src/core/stream.ts';
import { fieldValues } from '../../src/verify/field-values.ts';
import { entryNamed } from '../support/catalogue.ts';

const scores = entryNamed('asset_health_scores');
const total = { score: 1, test_count: 2, bucket_at: '2026-11-20T04:00:00Z' };
const dimension = { dimension: 'freshness', ...total, trend: 'up' };
const [shown] = decodePage(scores, [{ asset_id: 'a', total, dimensions: [dimension] }]).rows;
const part = shown?.parts[0]?.[0];

const valuesOf = (held: readonly Row[]) =>
  fieldValues(
    scores,
    { what: 'unequal', fields: ['score', 'dimensions.freshness'] },
    { existing: { row: { asset_id: 'a', score: 0.5 }, parts: [held] }, shown },
  );

test('a field is shown with its value on both sides, and a child row with what differs in it', () => {
  expect(valuesOf([{ ...part, test_count: 3, extra: null }])).toEqual([
    { field: 'score', mirror: 0.5, source: 1 },
    {
      field: 'dimensions.freshness',
      mirror: { test_count: 3, extra: null },
      source: { test_count: 2, extra: '{"trend":"up"}' },
    },
  ]);
});

test('a child row that one side lacks is null there', () => {
  const [, missing] = valuesOf([]);
  expect(missing).toMatchObject({ mirror: null, source: { score: 1, test_count: 2 } });
});

test('two long texts are cut around their first difference, and no character in halves', () => {
  const begin = 'a'.repeat(50);
  expect(shortenPair([`${begin}x`, `${begin}y`], 60)).toEqual([`${begin}x`, `${begin}y`]);
  expect(shortenPair([`${begin}x${'😀'.repeat(20)}`, `${begin}y`], 60)).toEqual([
    `…${'a'.repeat(20)}x${'😀'.repeat(19)}…`,
    `…${'a'.repeat(20)}y`,
  ]);
  const [cut] = shortenPair(['x'.repeat(9).concat('😀😀'), ''], 11);
  expect(cut).toBe('xxxxxxxxx\ufffd…');
});
