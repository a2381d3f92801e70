import { describe, expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode.ts';
import { reconcile } from '../../src/core/environments.ts';
import type { StorageLimits } from '../../src/core/storage-limits.ts';
import type { Stream } from '../../src/core/stream.ts';
import { asset, column, link, START, score } from '../support/conformance/workbench.ts';
import { streamOf } from './setup.ts';

const limits: StorageLimits = { maxKeyBytes: 10, indexed: () => new Set(['id', 'asset_id', 'parent_id']) };

const decoded = (stream: Stream, item: object) => decodePage(stream, [item], { limits });
const rejectionOf = (stream: Stream, item: object) => decoded(stream, item).rejected[0];

const assets = streamOf('assets');
const columns = streamOf('columns');
const links = streamOf('asset_lineage');

describe('what the storage of a mirror cannot hold', () => {
  test('a key that is too long, counted in bytes, is no usable key: the payload stands for it (R20)', () => {
    expect(decoded(assets, asset('ééééé')).rows).toHaveLength(1);
    const item = asset('éééééé');
    expect(rejectionOf(assets, item)).toEqual({
      key: null,
      rowKey: JSON.stringify(item),
      reason: 'the key is longer than 10 bytes',
      payload: JSON.stringify(item),
    });
    expect(rejectionOf(links, link('a', '12345678901'))?.reason).toBe('the key is longer than 10 bytes');
  });

  test('a key with U+0000 is no usable key (R20)', () => {
    expect(rejectionOf(assets, asset('a\0'))).toMatchObject({ key: null, reason: 'the key holds U+0000' });
  });

  test('a row that is rejected for something else has no key either if its key cannot be held (R20)', () => {
    const item = { ...asset('12345678901'), kind: 7 };
    expect(rejectionOf(assets, item)).toMatchObject({ key: null, rowKey: JSON.stringify(item) });
    expect(rejectionOf(assets, { ...asset('1'), kind: 7 })).toMatchObject({ key: ['1'], rowKey: '1' });
  });

  test('a text of an index that is too long is a reason to reject the row, under its key (R20)', () => {
    expect(rejectionOf(columns, column('a', { asset_id: '12345678901' }))).toMatchObject({
      key: ['a'],
      reason: 'asset_id is longer than 10 bytes',
    });
    expect(rejectionOf(columns, column('a', { asset_id: '1', name: '12345678901' }))).toBeUndefined();
  });

  test('U+0000 in another text becomes U+FFFD, and extra keeps the text as sent (R19, R20)', () => {
    const { rows } = decoded(
      columns,
      column('a', { name: 'x\0y\0', data_type: '\0', more: 12345678901234567890n.toString() }),
    );
    expect(rows[0]?.row).toMatchObject({ name: 'x\uFFFDy\uFFFD', data_type: '\uFFFD' });
    expect(JSON.parse(String(rows[0]?.row['extra']))).toEqual({
      more: '12345678901234567890',
      name: 'x\0y\0',
      data_type: '\0',
    });
    expect(rows[0]?.row['extra']).not.toContain('\0');
  });

  test('the parts of a row are held to the same (R20)', () => {
    const scores = streamOf('asset_health_scores');
    expect(rejectionOf(scores, score('a', 1, { '12345678901': 1 }))?.reason).toBe(
      'dimensions: the key is longer than 10 bytes',
    );
    expect(rejectionOf(scores, score('a', 1, { 'a\0': 1 }))?.reason).toBe('dimensions: the key holds U+0000');
    expect(decoded(scores, score('a', 1, { a: 1 })).rows[0]?.parts[0]).toHaveLength(1);
  });

  test('an environment whose id cannot be held is rejected, and its name may have U+FFFD (R20)', () => {
    const env = (id: string, name = id) => ({ id, name });
    const { listed, rejected } = reconcile([env('a', 'x\0'), env('12345678901')], [], START, limits);
    expect(listed).toEqual([expect.objectContaining({ id: 'a', name: 'x\uFFFD' })]);
    expect(rejected).toEqual([expect.objectContaining({ key: null, reason: 'the key is longer than 10 bytes' })]);
  });

  test('without limits everything is held as it is', () => {
    const item = asset('a\0'.repeat(1000));
    expect(decodePage(assets, [item]).rows[0]?.key).toEqual(['a\0'.repeat(1000)]);
  });
});
