import { describe, expect, test } from 'vitest';
import { addSeconds } from '../../../src/core/time/instant.ts';
import { NO_TIMES, type ServerTimes, spreadSeconds, withReading } from '../../../src/core/time/server-times.ts';
import { T } from '../setup.ts';

/** The times after these readings: seconds after T, and seconds since the first reading. */
function timesAfter(...readings: readonly [seconds: number, elapsedSeconds: number][]): ServerTimes {
  return readings.reduce(
    (times, [seconds, elapsedSeconds]) => withReading(times, { at: addSeconds(T, seconds), elapsedSeconds }),
    NO_TIMES,
  );
}

describe('ServerTimes', () => {
  test('readings of one clock agree on T, however long the run lasts (R1)', () => {
    const times = timesAfter([0, 0], [60, 60.4], [172_801, 172_800.2]);
    expect(times.serverTime).toBe(T);
    expect(spreadSeconds(times)).toBeLessThanOrEqual(1);
    expect(times.newestReading).toBe(addSeconds(T, 172_801));
  });

  test('a clock that runs ahead moves only what is due, and one that is behind moves T (R1)', () => {
    expect(timesAfter([0, 0], [7200, 5])).toMatchObject({ serverTime: T, latestServerTime: addSeconds(T, 7195) });
    expect(timesAfter([7200, 0], [5, 5])).toMatchObject({ serverTime: T, latestServerTime: addSeconds(T, 7200) });
    expect(spreadSeconds(timesAfter([7200, 0], [5, 5]))).toBe(7200);
  });

  test('without a reading there is no time and no spread (R1)', () => {
    expect([NO_TIMES.serverTime, spreadSeconds(NO_TIMES)]).toEqual([null, 0]);
  });
});
