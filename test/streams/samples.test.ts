import { expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode/decode.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';

test.each(CATALOGUE)('every field of the sample of $name becomes a column (R19, R20)', (entry) => {
  const { rows, rejected } = decodePage(entry, [SAMPLES[entry.name]('x', 'a')]);
  expect(rejected).toEqual([]);
  expect(rows.map(({ row }) => row['extra'])).toEqual([null]);
});
