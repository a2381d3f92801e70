import { expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode/decode.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';

test.each(CATALOGUE)('the sample of $name becomes a row that keeps every field of it (R19, R20)', (entry) => {
  const { rows, rejected } = decodePage(entry, [SAMPLES[entry.name]('x', 'a')]);
  expect(rejected).toEqual([]);
  expect(rows.map(({ row }) => row['extra'])).toEqual([null]);
});
