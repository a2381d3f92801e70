import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { csvText, jsonText, ndjsonText } from '../../src/cli/rows-text.ts';

type ResultRows = readonly (readonly unknown[])[];

const textOf = async (format: typeof csvText, columns: readonly string[], ...portions: ResultRows[]) =>
  (await Array.fromAsync(format(columns, Readable.from(portions)))).join('');

const MANY = Array.from({ length: 2001 }, (_, i) => [BigInt(i)]);

describe('rows as CSV', () => {
  test('fields are separated by commas and quoted where necessary', async () => {
    const rows = [
      ['x', 'y "z"'],
      ['1\n2', ' '],
    ];
    expect(await textOf(csvText, ['a', 'b,c'], rows)).toBe('a,"b,c"\nx,"y ""z"""\n"1\n2", \n');
  });

  test('NULL is an empty field and an empty text a quoted one', async () => {
    expect(await textOf(csvText, ['a', 'b'], [[null, '']])).toBe('a,b\n,""\n');
  });

  test('the header is printed even without rows', async () => {
    expect(await textOf(csvText, ['a', 'b'])).toBe('a,b\n');
  });

  test('every column is printed, whatever its name', async () => {
    expect(await textOf(csvText, ['a', 'a'], [[1, 2]])).toBe('a,a\n1,2\n');
  });
});

describe('rows as JSON', () => {
  test('rows are one array of objects', async () => {
    const rows = [
      [1n, null],
      [0.5, 'x\ny'],
    ];
    expect(await textOf(jsonText, ['a', 'b'], rows)).toBe('[\n{"a":1,"b":null},\n{"a":0.5,"b":"x\\ny"}\n]\n');
  });

  test('no rows are an empty array', async () => {
    expect(await textOf(jsonText, ['a'])).toBe('[]\n');
  });

  test('columns with the same name are numbered, skipping names that are taken', async () => {
    expect(await textOf(ndjsonText, ['a', 'a', 'a_2', 'a'], [[1, 2, 3, 4]])).toBe('{"a":1,"a_3":2,"a_2":3,"a_4":4}\n');
  });

  test('NDJSON has one object per line, and is empty without rows', async () => {
    expect((await textOf(ndjsonText, ['a'], MANY)).split('\n')).toHaveLength(2002);
    expect(await textOf(ndjsonText, ['a'])).toBe('');
  });

  test('numbers keep their value even if JavaScript cannot represent it', async () => {
    expect(await textOf(ndjsonText, ['a', 'b'], [[9223372036854775807n, Number.POSITIVE_INFINITY]])).toBe(
      '{"a":9223372036854775807,"b":9e999}\n',
    );
  });
});

test('a BLOB is hexadecimal in every format', async () => {
  const rows = [[Buffer.from([0, 255])]];
  expect(await textOf(csvText, ['a'], rows)).toBe('a\n00ff\n');
  expect(await textOf(ndjsonText, ['a'], rows)).toBe('{"a":"00ff"}\n');
});

test('rows are read while they are written, not all at once', async () => {
  let asked = 0;
  const endless = (async function* () {
    for (;;) yield [[++asked]];
  })();
  const texts = csvText(['a'], endless);
  await texts.next();
  await texts.next();
  expect(asked).toBe(1);
});

test('the text of rows does not depend on the portions that they arrive in', async () => {
  for (const format of [csvText, jsonText, ndjsonText]) {
    const whole = await textOf(format, ['a'], MANY);
    expect(await textOf(format, ['a'], MANY.slice(0, 700), [], MANY.slice(700))).toBe(whole);
    if (format === jsonText) expect(JSON.parse(whole)).toHaveLength(2001);
  }
});
