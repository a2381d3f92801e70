import { expect, test } from 'vitest';
import { wrapText } from '../../src/cli/wrap-text.ts';

test('a line of words that is too long for the screen goes on below, indented, and no word is cut in two', () => {
  const text = 'not looked at: histories\n  tests: one row is missing\n│ 表 │ b │';
  expect(wrapText(text, 16).split('\n')).toEqual([
    'not looked at:',
    '  histories',
    '  tests: one row',
    '    is missing',
    '│ 表 │ b │',
  ]);
});

test('a word that is longer than the screen, and a screen of no width, leave a line as it is', () => {
  expect(wrapText('a https://example.com/long', 10)).toBe('a\n  https://example.com/long');
  expect(wrapText('no terminal cuts this', null)).toBe('no terminal cuts this');
});
