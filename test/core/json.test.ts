import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactly, sameJson } from '../../src/core/json.ts';

const again = (text: string): string => JSON.stringify(parseExactly(text));

describe('parseExactly (R19)', () => {
  test.each([
    '9007199254740993',
    '-9007199254740993',
    '[12345678901234567890]',
    '{"a":{"b":[1,12345678901234567890]},"c":"12345678901234567890"}',
    '123456789012345678901234567890',
    '12345678901234567.25',
    '0.123456789012345678901',
    '1234567890123456789e-4',
    `1${'0'.repeat(308)}1`,
    `[${'9'.repeat(400)}]`,
  ])('%s is written exactly as it was read', (text) => {
    expect(again(text)).toBe(text);
    expect(again(` [ 0,\n${text}\t]`)).toBe(`[0,${text}]`);
  });

  test.each([
    '0',
    '-1.5',
    '9007199254740992',
    '0.8333333333333334',
    '10000000000000000000000',
    '0.10000000000000000000',
    '12345678901234567000',
    '-0.00000000000000000',
    '1.7976931348623157e308',
    '"9007199254740993"',
    '"id 9007199254740993: 9007199254740993"',
  ])('%s is read like JSON.parse reads it', (text) => {
    expect(parseExactly(text)).toBe(JSON.parse(text));
  });

  test('a large integer is kept exactly anywhere in a text', () => {
    const integers = fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n });
    const before = fc.array(fc.oneof(fc.string(), fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true })));
    fc.assert(
      fc.property(before, integers, (values, integer) => {
        const text = `{"a":${JSON.stringify(values)},"b":${integer}}`;
        expect(again(text)).toBe(`{"a":${JSON.stringify(JSON.parse(JSON.stringify(values)))},"b":${integer}}`);
      }),
    );
  });

  test('a text nested too deeply is read with rounded numbers', () => {
    const text = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    let innermost = parseExactly(text);
    while (Array.isArray(innermost)) innermost = innermost[0];
    expect(innermost).toBe(2 ** 53);
  });

  test('a text that is not JSON is refused', () => {
    expect(() => parseExactly('9007199254740993,')).toThrow(SyntaxError);
  });
});

describe('sameJson (R21)', () => {
  test.each([
    ['{"a":1,"b":{"c":[1,2],"d":null}}', '{"b":{"d":null,"c":[1,2]},"a":1}'],
    ['[{"a":1,"b":2}]', '[ {"b":2, "a":1.0} ]'],
    ['{"a":9007199254740993,"b":1}', '{"b":1,"a":9007199254740993}'],
    ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
  ])('%s equals %s', (a, b) => {
    expect(sameJson(a, b)).toBe(true);
  });

  test.each([
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":1,"b":null}', '{"a":1,"c":null}'],
    ['[1,2]', '[2,1]'],
    ['[]', '{}'],
    ['[1]', '{"0":1}'],
    ['null', '{}'],
    ['"1"', '1'],
    ['{"a":9007199254740993}', '{"a":9007199254740992}'],
    ['{"a":9007199254740993}', '{"a":{"rawJSON":"9007199254740993"}}'],
    ['{"a":', '{"a":1}'],
    ['{}', '{"toString":1}'],
  ])('%s does not equal %s', (a, b) => {
    expect(sameJson(a, b)).toBe(false);
    expect(sameJson(b, a)).toBe(false);
  });
});
