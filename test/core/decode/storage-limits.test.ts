import { describe, expect, test } from 'vitest';
import { decodePage } from '../../../src/core/decode/decode.ts';
import { limitsIn, type StorageLimits } from '../../../src/core/decode/storage-limits.ts';
import { reconcile } from '../../../src/core/schedule/environments.ts';
import type { Stream, StreamName } from '../../../src/core/stream.ts';
import { asset, column, edge, execution, link, START, score } from '../../support/conformance/workbench.ts';
import { streamOf } from '../setup.ts';

const limits: StorageLimits = {
  maxEntryBytes: 10,
  indexes: () => [['env_id', 'id'], ['parent_id'], ['env_id', 'asset_id'], ['env_id', 'test_id', 'status']],
};

const decoded = (stream: Stream, item: object) => decodePage(stream, [item], { limits });
const rejectionOf = (stream: Stream, item: object) => decoded(stream, item).rejected[0];

const assets = streamOf('assets');
const columns = streamOf('columns');
const links = streamOf('asset_lineage');

const of1000Bytes = 'é'.repeat(500);
const tooLong = `${of1000Bytes}x`;
const TOO_LONG = 'the key is longer than 1000 bytes';

describe('a key longer than 1,000 bytes', () => {
  const rejected = (name: StreamName, item: object) => decodePage(streamOf(name), [item]).rejected[0];

  test('it is unusable, so the payload stands in for it (R20)', () => {
    expect(decodePage(assets, [asset(of1000Bytes)]).rows).toHaveLength(1);
    const item = asset(tooLong);
    const payload = JSON.stringify(item);
    expect(rejected('assets', item)).toEqual({ key: null, rowKey: payload, reason: TOO_LONG, payload });
    expect(rejected('assets', { ...item, kind: 7 })).toMatchObject({ key: null, reason: TOO_LONG });
  });

  test('a tombstone with such a key is skipped, because no mirror has its row (R20)', () => {
    const passed = { rows: [], rejected: [] };
    expect(decodePage(assets, [{ id: tooLong, deleted_at: START }], { tombstones: true })).toEqual(passed);
    expect(decodePage(assets, [{ id: 'a\0', deleted_at: START }], { limits })).toEqual(passed);
    expect(rejected('assets', { id: tooLong, deleted_at: 'soon' })).toMatchObject({ key: null, reason: TOO_LONG });
  });

  test('the limit holds for each part of a key (R20)', () => {
    expect(rejected('asset_lineage', link(of1000Bytes, of1000Bytes))).toBeUndefined();
    expect(rejected('asset_lineage', link('a', tooLong))?.reason).toBe(TOO_LONG);
    expect(rejected('column_lineage', edge(tooLong, 'a'))?.reason).toBe(TOO_LONG);
  });

  test('in a child table or the history table it rejects the row, under the row’s own key (R20)', () => {
    expect(rejected('asset_health_scores', score('a', 1, { [tooLong]: 1 }))).toMatchObject({
      key: ['a'],
      reason: `dimensions: ${TOO_LONG}`,
    });
    expect(rejected('latest_test_executions', execution('s', tooLong))).toMatchObject({
      key: ['s'],
      reason: `test_executions: ${TOO_LONG}`,
    });
  });

  test('an environment with such an id is rejected (R20)', () => {
    const { listed, rejected: refused } = reconcile(
      [of1000Bytes, tooLong].map((id) => ({ id, name: 'x' })),
      [],
      START,
    );
    expect(listed).toMatchObject([{ id: of1000Bytes }]);
    expect(refused).toMatchObject([{ key: null, reason: TOO_LONG }]);
  });
});

describe('the storage limits of a mirror', () => {
  test('a key too long for an index entry is unusable (R20)', () => {
    expect(decoded(links, link('ééé', '1234')).rows).toHaveLength(1);
    const item = link('ééé', '12345');
    expect(rejectionOf(links, item)).toMatchObject({
      key: null,
      rowKey: JSON.stringify(item),
      reason: 'the key is longer than 10 bytes',
    });
  });

  test('each index entry includes the id of the environment (R20)', () => {
    expect(limitsIn(limits, 'éé')?.maxEntryBytes).toBe(6);
    expect(limitsIn(null, 'éé')).toBeNull();
  });

  test('a key with U+0000 is unusable (R20)', () => {
    expect(rejectionOf(assets, asset('a\0'))).toMatchObject({ key: null, reason: 'the key holds U+0000' });
  });

  test('a row rejected for another reason also loses a key that cannot be stored (R20)', () => {
    const item = { ...asset('12345678901'), kind: 7 };
    expect(rejectionOf(assets, item)).toMatchObject({ key: null, rowKey: JSON.stringify(item) });
    expect(rejectionOf(assets, { ...asset('1'), kind: 7 })).toMatchObject({ key: ['1'], rowKey: '1' });
  });

  test('a row whose texts are too long for an index entry is rejected under its key (R20)', () => {
    expect(rejectionOf(columns, column('a', { asset_id: '12345678901' }))).toMatchObject({
      key: ['a'],
      reason: 'an index entry of asset_id is longer than 10 bytes',
    });
    expect(rejectionOf(columns, column('a', { asset_id: '1', name: '12345678901' }))).toBeUndefined();
    expect(rejectionOf(assets, { ...asset('a'), parent_id: '1234567890' })).toBeUndefined();
    const executed = execution('s', 'e', { status: 'FAIL', test_id: '1234567' });
    expect(rejectionOf(streamOf('latest_test_executions'), executed)?.reason).toBe(
      'an index entry of test_id, status is longer than 10 bytes',
    );
  });

  test('U+0000 becomes U+FFFD in texts and JSON; an escaped backslash before u0000 stays (R19)', () => {
    const { rows } = decoded(columns, column('a', { name: 'x\0y\0', data_type: '\0', more: ['\0\0', '\\u0000'] }));
    expect(rows[0]?.row).toMatchObject({ name: 'x\uFFFDy\uFFFD', data_type: '\uFFFD' });
    expect(JSON.parse(String(rows[0]?.row['extra']))).toEqual({ more: ['\uFFFD\uFFFD', '\\u0000'] });
    const tagged = decoded(assets, { ...asset('a'), tags: ['a\0'] }).rows[0]?.row;
    expect(tagged?.['tags']).toBe('["a\uFFFD"]');
  });

  test('a row is rejected if an id in it holds U+0000, which would become another id (R20)', () => {
    expect(rejectionOf(streamOf('latest_test_executions'), execution('s', 'e\0', { test_id: 't' }))).toMatchObject({
      key: ['s'],
      reason: 'id holds U+0000',
    });
    expect(rejectionOf(columns, column('a', { asset_id: 'b\0' }))?.reason).toBe('asset_id holds U+0000');
  });

  test('the limits also hold for child rows (R20)', () => {
    const scores = streamOf('asset_health_scores');
    expect(rejectionOf(scores, score('a', 1, { '12345678901': 1 }))?.reason).toBe(
      'dimensions: the key is longer than 10 bytes',
    );
    expect(rejectionOf(scores, score('a', 1, { 'a\0': 1 }))?.reason).toBe('dimensions: the key holds U+0000');
    expect(decoded(scores, score('a', 1, { a: 1 })).rows[0]?.parts[0]).toHaveLength(1);
  });

  test('an environment whose id cannot be stored is rejected, and U+0000 in its name becomes U+FFFD (R20)', () => {
    const env = (id: string, name = id) => ({ id, name });
    const { listed, rejected } = reconcile([env('a', 'x\0'), env('12345678901')], [], START, limits);
    expect(listed).toEqual([expect.objectContaining({ id: 'a', name: 'x\uFFFD' })]);
    expect(rejected).toEqual([expect.objectContaining({ key: null, reason: 'the key is longer than 10 bytes' })]);
  });

  test('without limits a key is stored as it is', () => {
    const item = asset('a\0'.repeat(400));
    expect(decodePage(assets, [item]).rows[0]?.key).toEqual(['a\0'.repeat(400)]);
  });
});
