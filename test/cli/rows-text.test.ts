import { describe, expect, test } from 'vitest';
import { csvFormat, formatted, formattedPortions, jsonFormat, ndjsonFormat } from '../../src/cli/rows-text.ts';

type ResultRows = Iterable<readonly unknown[]>;

const csvText = (columns: readonly string[], rows: ResultRows) => formatted(csvFormat(columns), rows);
const jsonText = (columns: readonly string[], rows: ResultRows) => formatted(jsonFormat(columns), rows);
const ndjsonText = (columns: readonly string[], rows: ResultRows) => formatted(ndjsonFormat(columns), rows);

const text = (texts: Iterable<string>) => [...texts].join('');
const MANY = Array.from({ length: 2001 }, (_, i) => [BigInt(i)]);

describe('rows as CSV', () => {
  test('fields are separated by commas and quoted where necessary', () => {
    expect(
      text(
        csvText(
          ['a', 'b,c'],
          [
            ['x', 'y "z"'],
            ['1\n2', ' '],
          ],
        ),
      ),
    ).toBe('a,"b,c"\nx,"y ""z"""\n"1\n2", \n');
  });

  test('NULL is an empty field and an empty text a quoted one', () => {
    expect(text(csvText(['a', 'b'], [[null, '']]))).toBe('a,b\n,""\n');
  });

  test('the header is printed even without rows', () => {
    expect(text(csvText(['a', 'b'], []))).toBe('a,b\n');
  });

  test('every column is printed, whatever its name', () => {
    expect(text(csvText(['a', 'a'], [[1, 2]]))).toBe('a,a\n1,2\n');
  });
});

describe('rows as JSON', () => {
  test('rows are one array of objects', () => {
    expect(
      text(
        jsonText(
          ['a', 'b'],
          [
            [1n, null],
            [0.5, 'x\ny'],
          ],
        ),
      ),
    ).toBe('[\n{"a":1,"b":null},\n{"a":0.5,"b":"x\\ny"}\n]\n');
  });

  test('no rows are an empty array', () => {
    expect(text(jsonText(['a'], []))).toBe('[]\n');
  });

  test('any number of rows is one array', () => {
    expect(JSON.parse(text(jsonText(['a'], MANY)))).toHaveLength(2001);
  });

  test('columns with the same name are numbered, skipping names that are taken', () => {
    expect(text(ndjsonText(['a', 'a', 'a_2', 'a'], [[1, 2, 3, 4]]))).toBe('{"a":1,"a_3":2,"a_2":3,"a_4":4}\n');
  });

  test('NDJSON has one object per line, and is empty without rows', () => {
    expect(text(ndjsonText(['a'], MANY)).split('\n')).toHaveLength(2002);
    expect(text(ndjsonText(['a'], []))).toBe('');
  });

  test('numbers keep their value even if JavaScript cannot represent it', () => {
    expect(text(ndjsonText(['a', 'b'], [[9223372036854775807n, Number.POSITIVE_INFINITY]]))).toBe(
      '{"a":9223372036854775807,"b":9e999}\n',
    );
  });
});

test('a BLOB is hexadecimal in every format', () => {
  const rows = [[Buffer.from([0, 255])]];
  expect(text(csvText(['a'], rows))).toBe('a\n00ff\n');
  expect(text(ndjsonText(['a'], rows))).toBe('{"a":"00ff"}\n');
});

test('rows are read while they are written, not all at once', () => {
  let asked = 0;
  const endless = (function* () {
    for (;;) yield [++asked];
  })();
  const texts = csvText(['a'], endless);
  texts.next();
  texts.next();
  expect(asked).toBeLessThan(1000);
});

test('rows that arrive in portions are formatted like rows in memory', async () => {
  const portions = async function* () {
    yield MANY.slice(0, 700);
    yield [];
    yield MANY.slice(700);
  };
  for (const format of [csvFormat, jsonFormat, ndjsonFormat]) {
    const parts: string[] = [];
    for await (const part of formattedPortions(format(['a']), portions())) parts.push(part);
    expect(parts.join('')).toBe(text(formatted(format(['a']), MANY)));
  }
});
