import { expect, test } from 'vitest';
import { visibleText } from '../../src/page/visible-text.ts';

test.each([
  ['a zero-width space', 'a\u200Bb', 'a[U+200B]b'],
  ['a joiner within a word', 'a\u200Db', 'a[U+200D]b'],
  ['an override of the direction', '\u202Ecod', '[U+202E]cod'],
  ['an isolate', '\u2066a\u2069', '[U+2066]a[U+2069]'],
  ['a mark of the direction', 'a\u061C', 'a[U+061C]'],
  ['a byte order mark', '\uFEFFa', '[U+FEFF]a'],
  ['a soft hyphen', 'a\u00ADb', 'a[U+00AD]b'],
  ['a control character', 'a\u0007', 'a[U+0007]'],
  ['a letter of the tags', 'a\u{E0061}', 'a[U+E0061]'],
])('visibleText shows %s as its code point', (_, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test.each(['orders', 'größe, 数据, بيانات, नमस्ते', 'two\nlines\tof text', '❤️ 👩🏽‍💻 👨‍👩‍👧', ''])(
  'visibleText leaves other text unchanged: %s',
  (text) => {
    expect(visibleText(text)).toBe(text);
  },
);
