import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEnvelope, parseJson } from '../../src/source/envelope.ts';
import { parseHeavyPage } from '../../src/source/heavy-page.ts';
import { HEAVY_BYTES } from '../../src/source/send.ts';
import { ASSETS, setUp } from './setup.ts';

const sliced = (text: string, sliceBytes = 1) => parseHeavyPage(Buffer.from(text), sliceBytes);

function itemsOf(page: object | null | undefined): unknown[] {
  return [...(decodeEnvelope(page)?.items ?? [])];
}

test('a heavy list parsed in slices gives the same page as one parsed whole (R8, R27)', () => {
  const bodies = fc.record(
    {
      items: fc.array(fc.jsonValue(), { maxLength: 6 }),
      has_more: fc.boolean(),
      next_cursor: fc.option(fc.string()),
      'it\\ems': fc.jsonValue(),
    },
    { requiredKeys: ['items'] },
  );
  fc.assert(
    fc.property(bodies, fc.nat({ max: 40 }), fc.constantFrom(0, 1), (body, sliceBytes, indent) => {
      const text = JSON.stringify(body, null, indent);
      const page = sliced(text, sliceBytes);
      if ('it\\ems' in body) {
        expect(page).toBeNull();
        return;
      }
      const whole = parseJson(Buffer.from(text)) as { items: unknown[] };
      expect({ ...page, items: itemsOf(page) }).toEqual(whole);
      expect(decodeEnvelope(page)?.items.length).toBe(whole.items.length);
    }),
  );
});

test('each slice of a heavy list has a given number of bytes and can be read twice (R27)', () => {
  const page = decodeEnvelope(sliced(JSON.stringify({ items: ['a,]', { b: [1, 2] }, 'c"\\', 4] })));
  const slices = page !== null && 'slices' in page.items ? page.items.slices : [];
  const parts = [['a,]'], [{ b: [1, 2] }], ['c"\\'], [4]];
  expect(slices.map((parse) => parse())).toEqual(parts);
  expect(slices.map((parse) => parse())).toEqual(parts);
});

test.each([
  '{"items": [1, 2',
  '{"items": [1,, 2]}',
  '{"items": [1, 2,]}',
  '{"items": [1, 2]} more',
  '{"items": ["a\u0001", 2]}',
  '{"items": [1, 2], "has_more": tru}',
  '{"items": [1, 2}]',
])('a heavy body that is not JSON is rejected when parsed in slices too: %s (R27)', (text) => {
  expect(parseJson(Buffer.from(text))).toBeUndefined();
  expect([null, undefined]).toContain(sliced(text, 1));
  expect([null, undefined]).toContain(sliced(text, 1000));
});

test('half a UTF-8 character in a slice makes the body invalid (R27)', () => {
  const body = Buffer.concat([Buffer.from('{"items":["a","'), Buffer.from([0xc3]), Buffer.from('"]}')]);
  expect(parseHeavyPage(body)).toBeUndefined();
});

test.each([
  '[1, 2]',
  '{"items": {"a": [1]}}',
  '{"items": [1], "items": [2]}',
  '{"a": {"items": [1]}}',
  '"items"',
  '{}',
])('a body of another shape is not sliced: %s (R27)', (text) => expect(sliced(text)).toBeNull());

test('numbers in a slice keep all their digits (R19)', () => {
  const text = '{"items": [{"n": 12345678901234567890}]}';
  expect(JSON.stringify(itemsOf(sliced(text)))).toBe('[{"n":12345678901234567890}]');
});

test('a heavy response has slices, a light one an array (R27)', async () => {
  const filler = 'x'.repeat(HEAVY_BYTES / 8);
  const items = Array.from({ length: 9 }, (_, n) => `${n}${filler}`);
  const { source } = await setUp([
    { body: { items: ['light'] } },
    { body: { items, next_cursor: 'c', has_more: true } },
  ]);
  expect(await source.page(ASSETS)).toEqual({ items: ['light'], hasMore: false, nextCursor: null });
  const heavy = await source.page(ASSETS);
  expect({ ...heavy, items: [...heavy.items] }).toEqual({ items, hasMore: true, nextCursor: 'c' });
  expect('slices' in heavy.items && heavy.items.slices.length).toBeGreaterThan(1);
});

test('a heavy response that breaks off within its JSON is retried like any other (R24)', async () => {
  const text = `{"items":["${'x'.repeat(HEAVY_BYTES)}", "y"`;
  const { source, server } = await setUp([{ body: text }, { body: { items: [1] } }]);
  expect((await source.page(ASSETS)).items).toEqual([1]);
  expect(server.requests.length).toBe(2);
});
