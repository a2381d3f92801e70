import fc from 'fast-check';

const DATES = [
  'Fri, 20 Nov 2026 04:10:00 GMT',
  'Fri, 20 Nov 2026 04:10:09 GMT',
  'Friday, 20-Nov-26 04:10:00 GMT',
  'Fri Nov 20 04:10:00 2026',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  'Sat, 13 Sep 275760 00:00:00 GMT',
  'Fri, 20 Nov 10000 04:10:00 GMT',
  'Mon, 1',
  '2026-11-20T04:10:00Z',
];
const NUMBERS = ['0', '1', '2', '007', '-1', '+5', '1.5', '1e3', '999999999', '1000000000', '1795147800', 'NaN'];

/** Text that is valid in a header but not in these. */
const words = fc.string({ unit: 'grapheme-ascii', maxLength: 8 });

const counts = fc.oneof(
  { weight: 4, arbitrary: fc.nat(20).map(String) },
  { weight: 3, arbitrary: fc.constantFrom(...NUMBERS, '3, 4', '', ' 5 ') },
  { weight: 1, arbitrary: words },
);
const dates = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...DATES) }, { weight: 1, arbitrary: words });

/** Headers for time and quota: valid, invalid or missing. */
export const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    date: dates,
    'retry-after': fc.oneof(counts, dates),
    'ratelimit-remaining': counts,
    'ratelimit-reset': counts,
  },
  { requiredKeys: [] },
);
