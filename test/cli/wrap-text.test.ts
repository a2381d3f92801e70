import { expect, test } from 'vitest';
import { wrapText } from '../../src/cli/wrap-text.ts';

test('a line that is too long for the screen continues indented on the next one, and no word is cut', () => {
  const text = 'not looked at: histories\n  tests: one row is missing\n│ 表 │ b │';
  expect(wrapText(text, 16).split('\n')).toEqual([
    'not looked at:',
    '  histories',
    '  tests: one row',
    '    is missing',
    '│ 表 │ b │',
  ]);
});

test('a word longer than the screen is not cut, and without a width no line is broken', () => {
  expect(wrapText('a https://example.com/long', 10)).toBe('a\n  https://example.com/long');
  expect(wrapText('no terminal cuts this', null)).toBe('no terminal cuts this');
});
