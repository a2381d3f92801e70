import { expect, test } from 'vitest';
import { wrapText } from '../../src/cli/wrap-text.ts';

test('wrapText indents the continuation of a long line and splits no word', () => {
  const text = 'not checked: histories\n  tests: one row is missing\n│ 表 │ b │';
  expect(wrapText(text, 16).split('\n')).toEqual([
    'not checked:',
    '  histories',
    '  tests: one row',
    '    is missing',
    '│ 表 │ b │',
  ]);
});

test('wrapText does not split a word longer than the width, and without a width breaks no line', () => {
  expect(wrapText('a https://example.com/long', 10)).toBe('a\n  https://example.com/long');
  expect(wrapText('no terminal cuts this', null)).toBe('no terminal cuts this');
});
