import { expect, test } from 'vitest';
import { clockJumpMs } from '../../../src/core/quota/clock-jump.ts';

const at = (wallMs: number, uptimeMs: number) => ({ wallMs, uptimeMs });

test.each([
  ['two clocks that agree show no jump', at(10_000, 500), at(70_000, 60_500), 0],
  ['clocks of different precision show no jump', at(10_000, 500), at(11_400, 1000), 0],
  [
    'a clock that was set forward jumped by the time that did not pass',
    at(10_000, 500),
    at(3_610_000, 1500),
    3_599_000,
  ],
  ['a clock that was set back jumped by all the time it lost', at(3_610_000, 500), at(10_000, 1500), -3_600_000],
  ['after a restart the wall clock alone counts', at(10_000, 90_000), at(70_000, 500), 0],
  ['a clock that was set back over a restart jumped as well', at(70_000, 90_000), at(10_000, 500), -60_000],
])('%s (R1, R23)', (_, before, now, jumpMs) => {
  expect(clockJumpMs(before, now)).toBe(jumpMs);
});
