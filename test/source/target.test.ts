import { describe, expect, test } from 'vitest';
import { endpointPath, pageTarget } from '../../src/source/target.ts';

describe('the path and query of a request', () => {
  test('each path segment is percent-encoded', () => {
    expect(endpointPath(['e/1', 'tests', 'a b?c#ü%', 'executions'])).toBe(
      '/public/beta/e%2F1/tests/a%20b%3Fc%23%C3%BC%25/executions',
    );
  });

  test('a path segment of dots is sent as a name, not as a step in the path', () => {
    expect(endpointPath(['e', '..', '.', '...', 'a.b'])).toBe('/public/beta/e/%2E%2E/%2E/.../a.b');
  });

  test('an unpaired surrogate is replaced and does not break the path', () => {
    expect(endpointPath(['\ud800'])).toBe('/public/beta/%EF%BF%BD');
  });

  test('an array becomes a repeated parameter, in the given order', () => {
    const query = { limit: 2000, ids: ['b c', 'a&='], disabled: 'true' };
    expect(pageTarget({ path: ['e', 'tests'], query, cursor: null })).toBe(
      '/public/beta/e/tests?limit=2000&ids=b%20c&ids=a%26%3D&disabled=true',
    );
  });

  test('the cursor follows the query', () => {
    expect(pageTarget({ path: ['e', 'assets'], query: { limit: 5 }, cursor: 'a+b/c=' })).toBe(
      '/public/beta/e/assets?limit=5&cursor=a%2Bb%2Fc%3D',
    );
  });

  test('a path without parameters has no question mark', () => {
    expect(pageTarget({ path: ['e', 'assets'], query: { ids: [] }, cursor: null })).toBe('/public/beta/e/assets');
  });
});
