import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstChunk } from '../../../src/core/decide/chunk.ts';
import { pageTarget } from '../../../src/source/target.ts';

/**
 * What the request line holds besides the base URL, with a long environment, and every other parameter there may be.
 */
function urlOf(parameter: string, ids: readonly string[]): string {
  const query = { disabled: 'true', [parameter]: ids, limit: 2000 };
  return pageTarget({ path: ['e'.repeat(100), 'column-lineage'], query, cursor: 'c'.repeat(1000) });
}

const MANY = 1200;
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

describe('firstChunk', () => {
  test.each([
    ['plain', (i: number) => `model.${i}`],
    ['full of spaces and slashes', (i: number) => `a b/${i}`],
    ['of the longest encodings', (i: number) => `${'\u{10FFFF}'.repeat(20)}${i}`],
    ['Chinese', (i: number) => `${'資'.repeat(60)}${i}`],
    ['half a surrogate pair', (i: number) => `${'\uD800'.repeat(60)}${i}`],
    ['empty', () => ''],
  ])('the URL stays below 8 KB when the ids are %s (R12)', (_, make) => {
    const ids = times(MANY, make);
    const chunk = firstChunk('asset_ids', ids);
    expect(urlOf('asset_ids', chunk).length).toBeLessThan(8000);
    expect(chunk).toEqual(ids.slice(0, chunk.length));
  });

  test('a chunk has as many ids as fit into the URL', () => {
    const chunk = firstChunk(
      'ids',
      times(MANY, (i) => `model.${i}`),
    );
    expect(urlOf('ids', [...chunk, ...chunk.slice(0, 100)]).length).toBeGreaterThan(8000);
  });

  test('a chunk has at most the 1000 values that the service accepts', () => {
    expect(
      firstChunk(
        'i',
        times(MANY, () => ''),
      ).length,
    ).toBe(1000);
  });

  test('even two of the longest ids that a mirror holds fit into a URL below 8 KB (R12, R20)', () => {
    const longest = times(3, () => 'ä'.repeat(500));
    expect(firstChunk('asset_ids', longest)).toHaveLength(2);
    expect(urlOf('asset_ids', firstChunk('asset_ids', longest)).length).toBeLessThan(8000);
  });

  test('a chunk is empty only if there are no ids, so every lookup ends', () => {
    expect(firstChunk('ids', [])).toEqual([]);
    const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.array(fc.string({ unit }), { minLength: 1 }), (ids) => {
        expect(firstChunk('ids', ids).length).toBeGreaterThan(0);
      }),
    );
  });
});
