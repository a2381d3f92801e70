import { describe, expect, test } from 'vitest';
import { type DecodedRow, decodeItem, decodePage, joinKey, type RejectedRow } from '../../../src/core/decode/decode.ts';
import { parseExactly } from '../../../src/core/json.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import { score } from '../../support/conformance/workbench.ts';
import { streamOf } from '../setup.ts';

const test1 = {
  id: 't',
  name: 'not null',
  test_type: 'generic',
  definition_type: 'dbt',
  source_type: 'dbt',
  severity: 'ERROR',
  disabled: false,
};

const execution = {
  id: 'run-1',
  test_id: 't',
  sub_test_unique_id: 's',
  sub_type: 'rows',
  status: 'PASS',
  failure_count: 0,
  start_time: '2026-11-20T04:10:00',
  duration_seconds: 1.5,
};

const taken = (name: StreamName, item: unknown): DecodedRow => {
  const result = decodeItem(streamOf(name), item);
  if (result === null || 'reason' in result) throw new Error(result?.reason ?? 'was passed over');
  return result;
};

const refused = (name: StreamName, item: unknown): RejectedRow => {
  const result = decodeItem(streamOf(name), item);
  if (result === null || !('reason' in result)) throw new Error('was not rejected');
  return result;
};

const extraOf = ({ row }: DecodedRow): unknown => JSON.parse(String(row['extra']));

describe('a decoded row (R19)', () => {
  test('instants become UTC text, booleans 0 or 1, arrays and objects JSON text', () => {
    const sent = {
      ...test1,
      disabled: true,
      owners: ['a', { id: 1 }],
      config: { max: 3 },
      updated_at: '2026-11-20T04:10:00Z',
    };
    expect(taken('tests', sent).row).toEqual({
      ...test1,
      disabled: 1,
      owners: '["a",{"id":1}]',
      config: '{"max":3}',
      updated_at: '2026-11-20T04:10:00.000000Z',
      asset_id: null,
      column_name: null,
      tags: '[]',
      description: null,
      path: null,
      project: null,
      synced_at: null,
      extra: null,
    });
  });

  test('unknown enum values are accepted', () => {
    expect(taken('tests', { ...test1, severity: 'PANIC' }).row).toMatchObject({ severity: 'PANIC' });
    expect(taken('latest_test_executions', { ...execution, status: 'TIMEOUT' }).row).toMatchObject({
      status: 'TIMEOUT',
    });
  });

  test('unknown fields are kept in extra, whatever their names', () => {
    const unknown = '"cost":1.25,"nested":{"a":[null]},"none":null,"constructor":1,"__proto__":2';
    const { row } = taken('columns', JSON.parse(`{"id":"c","asset_id":"a","name":"n",${unknown}}`));
    expect(row['extra']).toBe(`{${unknown}}`);
  });

  test('a row of a stream without child tables has no parts', () => {
    expect(taken('tests', test1).parts).toEqual([]);
  });

  test.each<[string, object]>([
    ['left out', {}],
    ['null', { owners: null, tags: null }],
    ['empty', { owners: [], tags: [] }],
  ])('a list that is %s becomes the empty list (R19)', (_, sent) => {
    const none = { owners: '[]', tags: '[]', extra: null };
    expect(taken('tests', { ...test1, ...sent }).row).toMatchObject(none);
    const asset = { id: 'a', name: 'a', kind: 'etl', source_type: 'fivetran', ...sent };
    expect(taken('assets', asset).row).toMatchObject(none);
  });

  test('a list of the wrong type becomes NULL, and extra keeps its value (R20)', () => {
    const decoded = taken('tests', { ...test1, tags: 'pii' });
    expect(decoded.row).toMatchObject({ owners: '[]', tags: null });
    expect(extraOf(decoded)).toEqual({ tags: 'pii' });
  });

  test('an optional field that is null is stored as NULL', () => {
    const { row } = taken('latest_test_executions', { ...execution, failure_count: null });
    expect(row).toMatchObject({ failure_count: null, extra: null });
    expect(taken('tests', { ...test1, config: null }).row).toMatchObject({ config: null, extra: null });
  });
});

describe('a rejected item (R20)', () => {
  test('it affects no other row of its page', () => {
    const { rows, rejected } = decodePage(streamOf('tests'), [
      test1,
      { ...test1, id: 'u', name: 1 },
      { ...test1, id: 'v' },
    ]);
    expect(rows.map((row) => row.key)).toEqual([['t'], ['v']]);
    expect(rejected).toEqual([
      {
        key: ['u'],
        rowKey: 'u',
        reason: 'name is not a string',
        payload: JSON.stringify({ ...test1, id: 'u', name: 1 }),
      },
    ]);
  });

  test.each([null, 'text', 3, ['t'], true, undefined])('the item %j is rejected, with its own text as key', (item) => {
    const payload = JSON.stringify(item ?? null);
    expect(refused('tests', item)).toEqual({ key: null, rowKey: payload, reason: 'not an object', payload });
  });

  test.each([undefined, null, '', 7, {}])('an id of %j is no usable key', (id) => {
    const payload = JSON.stringify({ ...test1, id });
    expect(refused('tests', { ...test1, id })).toEqual({ key: null, rowKey: payload, reason: 'no usable id', payload });
  });

  test('an edge needs both ends, which are its key', () => {
    const edge = { upstream_column_id: 'u', downstream_column_id: 'd' };
    expect(taken('column_lineage', edge).key).toEqual(['d', 'u']);
    expect(refused('column_lineage', { ...edge, upstream_column_id: null }).reason).toBe(
      'no usable downstream_column_id, upstream_column_id',
    );
  });

  test.each([
    ['tests', { ...test1, severity: undefined }, 'severity is missing'],
    ['tests', { ...test1, severity: null }, 'severity is missing'],
    ['tests', { ...test1, disabled: 'false' }, 'disabled is not a boolean'],
    ['latest_test_executions', { ...execution, start_time: 'today' }, 'start_time is not an instant'],
    ['latest_test_executions', { ...execution, start_time: 1795147800 }, 'start_time is not an instant'],
    ['latest_test_executions', { ...execution, start_time: [execution.start_time] }, 'start_time is not an instant'],
    ['latest_test_executions', { ...execution, duration_seconds: '1' }, 'duration_seconds is not a number'],
  ] as const)('a %s item is rejected if a required field is missing or wrong (%#)', (name, item, reason) => {
    expect(refused(name, item)).toMatchObject({ reason, payload: JSON.stringify(item) });
  });

  test.each([
    ['tests', { ...test1, path: 7 }, 'path'],
    ['tests', { ...test1, owners: 'ann' }, 'owners'],
    ['tests', { ...test1, synced_at: '2026-02-30T00:00:00Z' }, 'synced_at'],
    ['latest_test_executions', { ...execution, failure_count: 1.5 }, 'failure_count'],
    ['latest_test_executions', { ...execution, failure_count: '3' }, 'failure_count'],
  ] as const)(
    'in a %s item, an optional field of the wrong type becomes NULL, and extra keeps its value (%#)',
    (name, item, field) => {
      const result = taken(name, item);
      expect(result.row[field]).toBeNull();
      expect(extraOf(result)).toEqual({ [field]: (item as Record<string, unknown>)[field] });
    },
  );
});

describe('a number beyond 2^53 (R19)', () => {
  const HUGE = '12345678901234567890';
  const sent = (item: object, json: string): unknown => parseExactly(JSON.stringify(item).replaceAll('"huge"', json));

  test.each([
    ['an unknown field', 'tests', { ...test1, more: { of: ['huge'] } }, `{"more":{"of":[${HUGE}]}}`],
    ['a field of text', 'tests', { ...test1, path: 'huge' }, `{"path":${HUGE}}`],
    ['a field of JSON', 'tests', { ...test1, config: 'huge' }, `{"config":${HUGE}}`],
    [
      'a field of integers',
      'latest_test_executions',
      { ...execution, failure_count: 'huge' },
      `{"failure_count":${HUGE}}`,
    ],
  ] as const)('in %s it is kept in extra', (_, name, item, extra) => {
    expect(taken(name, sent(item, HUGE)).row['extra']).toBe(extra);
  });

  test('within a JSON value it stays in place', () => {
    expect(taken('tests', sent({ ...test1, config: { n: 'huge' } }, HUGE)).row).toMatchObject({
      config: `{"n":${HUGE}}`,
      extra: null,
    });
  });

  test.each(['9007199254740993', HUGE, '9'.repeat(30)])(
    'a required count of %s is rounded, and extra has the exact number',
    (count) => {
      const total = { score: 0.5, test_count: 'huge', bucket_at: '2026-11-20T04:00:00Z' };
      const dimensions = [{ dimension: 'freshness', ...total }];
      const { row, parts } = taken('asset_health_scores', sent({ asset_id: 'a', total, dimensions }, count));
      expect(row).toMatchObject({ test_count: Number(count), extra: `{"total":{"test_count":${count}}}` });
      expect(parts[0]?.[0]).toMatchObject({ test_count: Number(count), extra: `{"test_count":${count}}` });
    },
  );

  test('in a field of numbers it is rounded', () => {
    const { row } = taken('latest_test_executions', sent({ ...execution, duration_seconds: 'huge' }, HUGE));
    expect(row).toMatchObject({ duration_seconds: Number(HUGE), extra: null });
  });

  test('as a key it is unusable, and the payload keeps it', () => {
    expect(refused('tests', sent({ ...test1, id: 'huge' }, HUGE))).toMatchObject({
      reason: 'no usable id',
      payload: expect.stringContaining(`"id":${HUGE}`),
    });
  });
});

describe('an item that SQLite cannot store (R20)', () => {
  const column = { id: 'c', asset_id: 'a', name: 'n' };
  const nested = (levels: number, [open, close]: readonly [string, string]): unknown =>
    JSON.parse(`${open.repeat(levels)}null${close.repeat(levels)}`);
  const array = ['[', ']'] as const;

  test.each([array, ['{"a":', '}'] as const])('more than 900 levels of %s are rejected', (...pair) => {
    expect(extraOf(taken('columns', { ...column, more: nested(899, pair) }))).toEqual({ more: nested(899, pair) });
    expect(refused('columns', { ...column, more: nested(900, pair) })).toEqual({
      key: ['c'],
      rowKey: 'c',
      reason: 'nested deeper than 900 levels',
      payload: JSON.stringify({ ...column, more: '(nested too deeply)' }),
    });
  });

  test('an array nested as deeply is rejected even if it is the item itself', () => {
    expect(refused('columns', nested(901, array)).payload).toBe('"(nested too deeply)"');
    expect(refused('columns', nested(900, array)).payload).toBe(JSON.stringify(nested(900, array)));
  });

  test('an unpaired surrogate makes a key unusable, also that of a history or a child row (R20)', () => {
    expect(refused('columns', { ...column, id: '\uD800' }).reason).toBe('the key holds half of a surrogate pair');
    expect(decodePage(streamOf('columns'), [{ id: '\uD800', deleted_at: '2026-11-20T04:10:00' }])).toEqual({
      rows: [],
      rejected: [],
    });
    const executed = { ...execution, id: 'e\uD800' };
    expect(refused('latest_test_executions', executed).reason).toBe('id is not a well-formed string');
    expect(refused('asset_health_scores', score('a', 1, { 'x\uD800': 1 })).reason).toBe(
      'dimensions: dimension is not a well-formed string',
    );
  });

  test('an id with an unpaired surrogate refers to no other row: NULL if optional, else the row is rejected (R20)', () => {
    expect(refused('columns', { ...column, asset_id: 'a\uD800' }).reason).toBe('asset_id is not a well-formed string');
    expect(taken('tests', { ...test1, asset_id: 'a\uD800' }).row).toMatchObject({
      asset_id: null,
      extra: '{"asset_id":"a\uFFFD"}',
    });
  });

  test('obsync_as_sent of a served mirror fills only empty optional fields; the rest of it stays in extra (R20)', () => {
    const sent = { id: 'other', deleted_at: '2026-11-20T04:10:00Z', data_type: 7, name: 'other' };
    const { rows } = decodePage(streamOf('columns'), [{ ...column, data_type: null, obsync_as_sent: sent }]);
    expect(rows[0]).toMatchObject({ key: [column.id], deletedAt: null });
    expect(extraOf(rows[0] as DecodedRow)).toEqual({
      data_type: 7,
      obsync_as_sent: { id: 'other', deleted_at: '2026-11-20T04:10:00Z', name: 'other' },
    });
  });

  test('an unpaired surrogate becomes U+FFFD in texts, JSON and extra; escaped backslashes and pairs stay (R19)', () => {
    const sent = { ...column, data_type: 'int\uD800', more: { 'a\uDC00': ['\uD83D', '\\ud83d', '\u{1F600}'] } };
    const row = taken('columns', sent);
    expect(row.row['data_type']).toBe('int\uFFFD');
    expect(extraOf(row)).toEqual({ more: { 'a\uFFFD': ['\uFFFD', '\\ud83d', '\u{1F600}'] } });
    expect(refused('columns', { ...column, name: 7, more: '\uD800' }).payload).toContain('"more":"\uFFFD"');
  });

  test('a number beyond the largest double is rejected', () => {
    const reason = 'duration_seconds is not a number';
    expect(refused('latest_test_executions', { ...execution, duration_seconds: JSON.parse('1e999') })).toMatchObject({
      reason,
    });
  });
});

describe('a decoded tombstone', () => {
  const deleted_at = '2026-11-20T04:10:00Z';

  test('it needs only its key and deleted_at (R20)', () => {
    expect(taken('tests', { id: 't', deleted_at })).toMatchObject({
      key: ['t'],
      deletedAt: '2026-11-20T04:10:00.000000Z',
    });
    expect(taken('tests', { id: 't', severity: 4, deleted_at }).deletedAt).not.toBeNull();
    expect(refused('tests', { name: 'n', deleted_at }).reason).toBe('no usable id');
  });

  test('it keeps its fields, and deleted_at is a known field', () => {
    expect(taken('tests', { ...test1, deleted_at }).row).toMatchObject({ name: 'not null', extra: null });
  });

  test('a tombstones feed accepts nothing else', () => {
    const { rows, rejected } = decodePage(streamOf('tests'), [{ id: 'gone', deleted_at }, test1], { tombstones: true });
    expect(rows.map((row) => row.key)).toEqual([['gone']]);
    expect(rejected).toMatchObject([{ rowKey: 't', reason: 'deleted_at is missing' }]);
  });

  test.each([deleted_at, 'long ago'])('a stream that is read whole has none, even with deleted_at %j', (sent) => {
    expect(taken('latest_test_executions', { ...execution, deleted_at: sent }).deletedAt).toBeNull();
  });

  test('a deleted_at of null makes no tombstone', () => {
    expect(taken('tests', { ...test1, deleted_at: null })).toMatchObject({ deletedAt: null, row: { extra: null } });
  });

  test.each(['', 'long ago', 0, true, {}])('deleted_at %j is rejected', (sent) => {
    expect(refused('tests', { ...test1, deleted_at: sent })).toMatchObject({
      key: ['t'],
      reason: 'deleted_at is not an instant',
    });
  });
});

describe('a decoded health score', () => {
  const dimension = { dimension: 'freshness', score: 0.5, test_count: 2, bucket_at: '2026-11-20T03:00:00' };
  const total = { score: 0.75, test_count: 4, bucket_at: '2026-11-20T04:00:00' };
  const item = { asset_id: 'a', total, dimensions: [dimension] };

  test('its total becomes a row, and each dimension a child row', () => {
    const { row, parts } = taken('asset_health_scores', item);
    expect(row).toEqual({ asset_id: 'a', ...total, bucket_at: '2026-11-20T04:00:00.000000Z', extra: null });
    expect(parts).toEqual([[{ asset_id: 'a', ...dimension, bucket_at: '2026-11-20T03:00:00.000000Z', extra: null }]]);
  });

  test.each([undefined, null, []])('dimensions of %j become no child rows', (dimensions) => {
    expect(taken('asset_health_scores', { ...item, dimensions }).parts).toEqual([[]]);
  });

  test('unknown fields are kept on every level (R19)', () => {
    const sent = { asset_id: 'a', trend: 1, total: { ...total, weight: 2 }, dimensions: [{ ...dimension, weight: 3 }] };
    const result = taken('asset_health_scores', sent);
    expect(extraOf(result)).toEqual({ trend: 1, total: { weight: 2 } });
    expect(result.parts[0]?.[0]?.['extra']).toBe('{"weight":3}');
  });

  test.each([
    [{ ...item, total: undefined }, 'score is missing'],
    [{ ...item, total: 0.5 }, 'score is missing'],
    [{ ...item, total: { ...total, score: '1' } }, 'score is not a number'],
    [{ ...item, total: { ...total, bucket_at: null } }, 'bucket_at is missing'],
    [{ ...item, dimensions: {} }, 'dimensions is not an array'],
    [{ ...item, dimensions: ['freshness'] }, 'an element of dimensions is not an object'],
    [{ ...item, dimensions: [{ ...dimension, test_count: 1.5 }] }, 'dimensions: test_count is not an integer'],
  ])('a fault in its total or in a dimension rejects it: %# (R20)', (sent, reason) => {
    expect(refused('asset_health_scores', sent)).toMatchObject({ key: ['a'], reason });
  });
});

test('the payload of an item nested too deeply keeps its nulls (R20)', () => {
  const more = JSON.parse(`${'['.repeat(900)}${']'.repeat(900)}`);
  const { payload } = refused('columns', { id: 'c', asset_id: 'a', name: 'n', data_type: null, more });
  expect(JSON.parse(payload)).toMatchObject({ data_type: null, more: '(nested too deeply)' });
});

test('joinKey never gives two different keys the same text', () => {
  expect(joinKey(['a'])).toBe('a');
  expect(joinKey(['a', 'b'])).not.toBe(joinKey(['a', 'c']));
  expect(new Set([joinKey(['a', 'b,c']), joinKey(['a,b', 'c']), joinKey(['a","b', 'c'])]).size).toBe(3);
});
