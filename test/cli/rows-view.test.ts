import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { renderTable, tableText } from '../../src/cli/rows-view.ts';
import { textWidth } from '../../src/cli/text-width.ts';

type ResultRows = readonly (readonly unknown[])[];

const linesOf = async (columns: readonly string[], portions: readonly ResultRows[], width: number | null) =>
  (await Array.fromAsync(tableText(columns, Readable.from(portions), width))).join('').split('\n');

describe('a streamed table', () => {
  /** Portions of the numbers from one to another. */
  const numbers = (...limits: readonly number[]): number[][][] =>
    limits.slice(1).map((limit, i) => {
      const start = limits[i] ?? 0;
      return Array.from({ length: limit - start }, (_, n) => [start + n]);
    });

  test('it is one table while its columns are wide enough', async () => {
    const lines = await linesOf(['number'], numbers(1, 2000, 4000, 5001), null);
    expect(lines).toHaveLength(5000 + 5);
    expect(lines.filter((line) => line.includes('number'))).toHaveLength(1);
  });

  test('it starts a new table when later rows need wider columns, and truncates nothing', async () => {
    const lines = await linesOf(['n'], numbers(1, 1001, 9001, 10_002), null);
    expect(lines).toHaveLength(10_001 + 2 * 4 + 1);
    expect(lines.slice(9003, 9008)).toEqual(['└──────┘', '┌───────┐', '│     n │', '├───────┤', '│  9001 │']);
  });

  test('it continues as numbered lists when later rows do not fit', async () => {
    const names = Array.from({ length: 9 }, (_, i) => `c${i}`);
    const lines = await linesOf(names, [Array(1000).fill(names), [names.map((name) => name.repeat(20))]], 60);
    expect(lines[0]).toMatch(/^┌/);
    expect(lines[1003]).toMatch(/^└/);
    expect(lines[1004]).toMatch(/^── row 1001 ─/);
  });

  test('without rows it has its heads', async () => {
    expect(await linesOf(['a'], [], null)).toEqual(['┌───┐', '│ a │', '├───┤', '└───┘', '']);
  });
});

describe('a rendered table', () => {
  const widths = (table: string) => table.split('\n').map((line) => line.length);

  test('it fits the given width by truncating the widest columns', () => {
    const rows = [['short', 'x'.repeat(100), 'y'.repeat(80)]];
    const table = renderTable(['a', 'b', 'c'], rows, 60);
    expect(Math.max(...widths(table))).toBeLessThanOrEqual(60);
    expect(table).toContain('│ short │ xxxx');
    expect(table).toContain('x… │ yyyy');
  });

  test('it uses the whole width', () => {
    expect(widths(renderTable(['a', 'b'], [['x'.repeat(100), 'y'.repeat(80)]], 60))[0]).toBe(60);
  });

  test('each row becomes a list if there are too many columns to be legible', () => {
    const columns = Array.from({ length: 20 }, (_, i) => `column_${i}`);
    const row = columns.map((name) => `${name} of a row, ${'x'.repeat(100)}`);
    const lines = renderTable(columns, [row, row], 80).split('\n');
    expect(lines).toHaveLength(42);
    expect(lines[0]).toMatch(/^── row 1 ─+$/);
    expect(lines[1]).toMatch(/^column_0 {2}│ column_0 of a row, x+…$/);
    expect(Math.max(...lines.map((line) => line.length))).toBe(80);
  });

  test('without a width it is as wide as its cells', () => {
    expect(widths(renderTable(['a'], [['x'.repeat(300)]], null))[0]).toBe(304);
  });

  test('a cell stays on one line, with control characters escaped', () => {
    const table = renderTable(['a'], [['one\ntwo\t\u001b[31mred\u202e']], null);
    expect(table.split('\n')[3]).toBe('│ one\\ntwo\\t\\u001b[31mred\\u202e │');
  });

  test('a wide character counts as two columns, and no character is cut in half', () => {
    const table = renderTable(['a'], [['日本'], ['abcdefgh'], ['😀😀😀😀😀']], 12);
    expect(table.split('\n').slice(3, 6)).toEqual(['│ 日本     │', '│ abcdefgh │', '│ 😀😀😀…  │']);
  });

  test.each([
    ['スーパー', 8],
    ['ｶﾅ', 2],
    ['한국어', 6],
    ['née', 3],
    ['👩‍💻', 2],
    ['❤️', 2],
  ])('%s takes the columns that a terminal gives it: %i', (text, columns) => {
    expect(textWidth(text)).toBe(columns);
  });

  test('numbers are aligned to the right', () => {
    expect(
      renderTable(
        ['n', 't'],
        [
          [1n, 'a'],
          [100, 'b'],
          [null, 'c'],
        ],
        null,
      )
        .split('\n')
        .slice(3, 6),
    ).toEqual(['│    1 │ a │', '│  100 │ b │', '│ NULL │ c │']);
  });
});
