import { describe, expect, test } from 'vitest';
import { endpointPath, pageTarget } from '../../src/source/target.ts';

describe('the request line', () => {
  test('every path segment is percent-encoded', () => {
    expect(endpointPath(['e/1', 'tests', 'a b?c#ü%', 'executions'])).toBe(
      '/public/beta/e%2F1/tests/a%20b%3Fc%23%C3%BC%25/executions',
    );
  });

  test('a segment of dots is no step in the path', () => {
    expect(endpointPath(['e', '..', '.', '...', 'a.b'])).toBe('/public/beta/e/%2E%2E/%2E/.../a.b');
  });

  test('half a surrogate pair does not break it', () => {
    expect(endpointPath(['\ud800'])).toBe('/public/beta/%EF%BF%BD');
  });

  test('an array is a repeated parameter, in the order given', () => {
    const query = { limit: 2000, ids: ['b c', 'a&='], disabled: 'true' };
    expect(pageTarget({ path: ['e', 'tests'], query, cursor: null })).toBe(
      '/public/beta/e/tests?limit=2000&ids=b%20c&ids=a%26%3D&disabled=true',
    );
  });

  test('the cursor comes after the query that it belongs to', () => {
    expect(pageTarget({ path: ['e', 'assets'], query: { limit: 5 }, cursor: 'a+b/c=' })).toBe(
      '/public/beta/e/assets?limit=5&cursor=a%2Bb%2Fc%3D',
    );
  });

  test('without parameters there is no question mark', () => {
    expect(pageTarget({ path: ['e', 'assets'], query: { ids: [] }, cursor: null })).toBe('/public/beta/e/assets');
  });
});
