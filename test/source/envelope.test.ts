import { describe, expect, test } from 'vitest';
import { decodeEnvelope, decodeEnvironments, decodeError, parseJson } from '../../src/source/envelope.ts';

describe('the envelope of a page', () => {
  test('only `items` is required', () => {
    expect(decodeEnvelope({ items: [1] })).toEqual({ items: [1], hasMore: false, nextCursor: null });
    expect(decodeEnvelope({ items: [], has_more: true, next_cursor: 'c', more: 1 })).toEqual({
      items: [],
      hasMore: true,
      nextCursor: 'c',
    });
  });

  test('an empty cursor counts as no cursor', () => {
    expect(decodeEnvelope({ items: [], has_more: true, next_cursor: '' })?.nextCursor).toBeNull();
  });

  test.each([
    [null],
    [[]],
    ['items'],
    [{}],
    [{ data: [] }],
    [{ items: {} }],
    [{ items: [], has_more: 'true' }],
    [{ items: [], has_more: null }],
    [{ items: [], has_more: 1 }],
    [{ items: [], next_cursor: 7 }],
  ])('%j is not an envelope (R8)', (body) => {
    expect(decodeEnvelope(body)).toBeNull();
  });
});

test('the list of environments is an array or an envelope, which may have further pages (R8)', () => {
  expect(decodeEnvironments([1])).toEqual({ items: [1], hasMore: false, nextCursor: null });
  expect(decodeEnvironments({ items: [1] })).toEqual({ items: [1], hasMore: false, nextCursor: null });
  const more = { items: [1], has_more: true, next_cursor: 'x' };
  expect(decodeEnvironments(more)).toEqual({ items: [1], hasMore: true, nextCursor: 'x' });
  expect(decodeEnvironments({ environments: [1] })).toBeNull();
});

test('an error has a code, and possibly a message', () => {
  expect(decodeError({ error: { code: 'c', message: 'm' } })).toEqual({ code: 'c', message: 'm' });
  expect(decodeError({ error: { code: 'c' } })).toEqual({ code: 'c', message: '' });
  expect(decodeError({ error: { message: 'm' } })).toBeNull();
  expect(decodeError({ error: 'not_found' })).toBeNull();
  expect(decodeError('not found')).toBeNull();
});

test('numbers in a body are read as they were sent (R19)', () => {
  expect(JSON.stringify(parseJson(Buffer.from('{"id":9007199254740993}')))).toBe('{"id":9007199254740993}');
});

test('a body that is not UTF-8 is not JSON', () => {
  expect(parseJson(Buffer.from('"ü"'))).toBe('ü');
  expect(parseJson(Buffer.from('"ü"', 'latin1'))).toBeUndefined();
});
