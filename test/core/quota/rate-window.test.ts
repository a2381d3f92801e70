import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  observe,
  type Permit,
  permitNow,
  type RateWindow,
  requestStart,
  UNKNOWN_WINDOW,
  waitsTooLong,
} from '../../../src/core/quota/rate-window.ts';
import { answerHead as head, play, type Wording } from '../../source/simulated-quota.ts';

/** Sends one request while no other is in flight, and receives its response. */
function exchange(window: RateWindow, wording: Wording | null, sentMs: number, answeredMs = sentMs): RateWindow {
  return observe(window, requestStart(window, sentMs), wording === null ? null : head(wording), answeredMs);
}

const go = (inFlight: number): Permit => ({ kind: 'go', inFlight });
const wait = (delayMs: number, reason: 'quota' | 'rate-limited'): Permit => ({ kind: 'wait', delayMs, reason });

const known = (): RateWindow => exchange(UNKNOWN_WINDOW, { remaining: 10, reset: 60 }, 0);

describe('the requests allowed in flight (R23)', () => {
  test('one is allowed before the first response', () => {
    expect(permitNow(UNKNOWN_WINDOW, 0)).toEqual(go(1));
    expect(permitNow(exchange(UNKNOWN_WINDOW, null, 0), 0)).toEqual(go(1));
  });

  test('as many are allowed as the response states', () => {
    expect(permitNow(known(), 0)).toEqual(go(10));
  });

  test('responses that never state a quota set no limit', () => {
    expect(permitNow(exchange(UNKNOWN_WINDOW, {}, 0), 0)).toEqual(go(Number.POSITIVE_INFINITY));
  });

  test('a late response of the same window doesn’t raise the remainder', () => {
    const first = requestStart(known(), 10);
    const second = requestStart(known(), 10);
    const later = observe(known(), second, head({ remaining: 8, reset: 60 }), 20);
    expect(permitNow(observe(later, first, head({ remaining: 9, reset: 60 }), 30), 30)).toEqual(go(8));
  });

  test('a response without the headers, and a request without a response, cost one each', () => {
    expect(permitNow(exchange(known(), {}, 10), 10)).toEqual(go(9));
    expect(permitNow(exchange(known(), null, 10), 10)).toEqual(go(9));
    expect(permitNow(exchange(known(), { remaining: 'many', reset: 60 }, 10), 10)).toEqual(go(9));
  });

  test('a request that ended without a response is subtracted from what earlier requests report', () => {
    const answered = requestStart(known(), 10);
    const unanswered = requestStart(known(), 10);
    const after = observe(observe(known(), unanswered, null, 20), answered, head({ remaining: 9, reset: 60 }), 30);
    expect(permitNow(after, 30)).toEqual(go(8));
    expect(permitNow(exchange(after, { remaining: 8, reset: 60 }, 40), 40)).toEqual(go(8));
  });
});

describe('the end of a window (R23)', () => {
  const spent = (): RateWindow => exchange(known(), { remaining: 0, reset: 50 }, 10_000);

  test('once nothing remains, no request starts until the reset, and then a single one', () => {
    expect(permitNow(spent(), 10_000)).toEqual(wait(50_000, 'quota'));
    expect(permitNow(spent(), 59_999)).toEqual(wait(1, 'quota'));
    expect(permitNow(spent(), 60_000)).toEqual(go(1));
  });

  test('the response to the request after the reset opens the new window', () => {
    expect(permitNow(exchange(spent(), { remaining: 9, reset: 60 }, 60_000), 60_000)).toEqual(go(9));
    expect(permitNow(exchange(spent(), { remaining: 9, reset: 1 }, 60_000), 60_000)).toEqual(go(9));
  });

  test('a response without headers after the reset again allows only one request', () => {
    expect(permitNow(exchange(spent(), {}, 60_000), 60_000)).toEqual(go(1));
    expect(permitNow(exchange(spent(), null, 60_000), 60_000)).toEqual(go(1));
  });

  test('the wait is at least a second, even with a malformed reset', () => {
    expect(permitNow(exchange(known(), { remaining: 0, reset: 0 }, 59_900), 59_900)).toMatchObject({ delayMs: 1000 });
    const unnamed = exchange(UNKNOWN_WINDOW, { remaining: 0, reset: 'soon' }, 0);
    expect(permitNow(unnamed, 0)).toEqual(wait(1000, 'quota'));
  });

  test('a reset given as a point in time counts as malformed', () => {
    const epoch = exchange(UNKNOWN_WINDOW, { remaining: 0, reset: 1_790_000_000 }, 0);
    expect(permitNow(epoch, 0)).toEqual(wait(1000, 'quota'));
  });

  test('a reset that moves on by more than two seconds opens a new window', () => {
    const low = exchange(known(), { remaining: 2, reset: 50 }, 10_000);
    expect(permitNow(exchange(low, { remaining: 9, reset: 52 }, 10_000), 10_000)).toEqual(go(2));
    expect(permitNow(exchange(low, { remaining: 9, reset: 53 }, 10_000), 10_000)).toEqual(go(9));
  });

  test('responses certainly from one window narrow down its end', () => {
    const opened = exchange(UNKNOWN_WINDOW, { remaining: 9, reset: 6 }, 0, 20);
    const spent = exchange(
      exchange(opened, { remaining: 1, reset: 6 }, 500, 520),
      { remaining: 0, reset: 5 },
      1010,
      1030,
    );
    expect(permitNow(spent, 1030)).toEqual(wait(4990, 'quota'));
  });

  test('a response that may be from the next window moves the end later, never earlier', () => {
    const opened = exchange(UNKNOWN_WINDOW, { remaining: 9, reset: 6 }, 0, 20);
    expect(exchange(opened, { remaining: 8, reset: 2 }, 5500, 5520).resetAtMs).toBe(7520);
    expect(exchange(opened, { remaining: 8, reset: 1 }, 4000, 5010).resetAtMs).toBe(6020);
    const early = observe(opened, requestStart(UNKNOWN_WINDOW, 10), head({ remaining: 8, reset: 5 }), 900);
    expect(early.resetAtMs).toBe(6020);
  });

  test('a slow response opens no new window', () => {
    const low = exchange(known(), { remaining: 2, reset: 50 }, 10_000);
    expect(permitNow(exchange(low, { remaining: 9, reset: 50 }, 10_000, 30_000), 30_000)).toEqual(go(2));
  });
});

describe('a 429 (R23)', () => {
  const pause = (wording: Wording) => permitNow(exchange(known(), { status: 429, ...wording }, 0), 0);
  const date = 'Fri, 20 Nov 2026 04:10:00 GMT';

  test('it pauses the account for Retry-After, then allows a single request', () => {
    const refused = exchange(known(), { status: 429, after: '7', remaining: 0, reset: 60 }, 0);
    expect(permitNow(refused, 0)).toEqual(wait(7000, 'rate-limited'));
    expect(permitNow(refused, 7000)).toEqual(go(1));
    expect(permitNow(exchange(refused, { remaining: 5, reset: 60 }, 7000), 7000)).toEqual(go(5));
  });

  test('a Retry-After date is compared with the Date of the response', () => {
    expect(pause({ after: 'Fri, 20 Nov 2026 04:10:20 GMT', date })).toEqual(wait(20_000, 'rate-limited'));
  });

  test('RateLimit-Reset stands in for a missing or malformed Retry-After', () => {
    expect(pause({ reset: 9 })).toEqual(wait(9000, 'rate-limited'));
    expect(pause({ after: '1.5', reset: 9, date })).toEqual(wait(9000, 'rate-limited'));
    expect(pause({ after: 'Fri, 20 Nov 2026 04:10:20 GMT', reset: 9 })).toEqual(wait(9000, 'rate-limited'));
  });

  test('its pause is at least a second', () => {
    expect(pause({ after: '0' })).toEqual(wait(1000, 'rate-limited'));
  });

  test('without any hint the pause doubles from one second to sixty', () => {
    let window = known();
    let nowMs = 0;
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      window = exchange(window, { status: 429 }, nowMs);
      const allowance = permitNow(window, nowMs);
      if (allowance.kind === 'go') throw new Error('expected a wait');
      waits.push(allowance.delayMs);
      nowMs += allowance.delayMs;
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('429s of requests that were in flight together count once', () => {
    const together = requestStart(known(), 0);
    const once = observe(known(), together, head({ status: 429 }), 10);
    expect(permitNow(observe(once, together, head({ status: 429 }), 20), 20)).toEqual(wait(1000, 'rate-limited'));
  });

  test('any other response ends the doubling', () => {
    const refused = exchange(exchange(known(), { status: 429 }, 0), { status: 429 }, 1000);
    expect(permitNow(refused, 1000)).toEqual(wait(2000, 'rate-limited'));
    const answered = exchange(refused, { remaining: 9, reset: 60 }, 3000);
    expect(permitNow(exchange(answered, { status: 429 }, 4000), 4000)).toEqual(wait(1000, 'rate-limited'));
  });

  test('the doubling begins with the first 429, even one within a spent window', () => {
    const late = requestStart(known(), 0);
    const spent = exchange(known(), { remaining: 0, reset: 50 }, 10_000);
    const refused = observe(spent, late, head({ status: 429 }), 20_000);
    expect(permitNow(refused, 20_000)).toEqual(wait(40_000, 'quota'));
    expect(permitNow(exchange(refused, { status: 429 }, 60_000), 60_000)).toEqual(wait(2000, 'rate-limited'));
  });

  test('a shorter pause doesn’t shorten a longer one', () => {
    const together = requestStart(known(), 0);
    const long = observe(known(), together, head({ status: 429, after: '30' }), 10);
    const short = observe(long, together, head({ status: 429, after: '1' }), 10);
    expect(permitNow(short, 10)).toEqual(wait(30_000, 'rate-limited'));
  });

  test('after the pause, a response without the headers again allows only one request', () => {
    const refused = exchange(known(), { status: 429, after: '1' }, 0);
    expect(permitNow(exchange(refused, {}, 1000), 1000)).toEqual(go(1));
  });

  test('a response to a request sent before the 429 doesn’t lift the pause', () => {
    const before = requestStart(known(), 0);
    const refused = exchange(known(), { status: 429, after: '30' }, 10);
    const after = observe(refused, before, head({ remaining: 50, reset: 3600 }), 20);
    expect(permitNow(after, 20)).toMatchObject({ kind: 'wait', reason: 'rate-limited' });
  });

  test('without a known quota, the next response lifts the limit of one request', () => {
    const refused = exchange(UNKNOWN_WINDOW, { status: 429, after: '1' }, 0);
    expect(permitNow(refused, 1000)).toEqual(go(1));
    expect(permitNow(exchange(refused, {}, 1000), 1000)).toEqual(go(Number.POSITIVE_INFINITY));
  });
});

describe('waitsTooLong (R23)', () => {
  test('a single wait may not be longer than the limit', () => {
    const spent = exchange(known(), { remaining: 0, reset: 60 }, 0);
    expect(waitsTooLong(spent, 0, 60_000)).toBe(false);
    expect(waitsTooLong(spent, 0, 59_999)).toBe(true);
    expect(waitsTooLong(spent, 59_000, 30_000)).toBe(false);
  });

  test('a request that may start doesn’t wait, however long there were only 429s', () => {
    const refused = exchange(known(), { status: 429, after: '30' }, 0);
    expect([29_999, 30_000].map((nowMs) => waitsTooLong(refused, nowMs, 10_000))).toEqual([true, false]);
  });

  test('a period of only 429s may not be longer than the limit, whatever the single waits', () => {
    const once = exchange(known(), { status: 429, after: '30' }, 0);
    const faulted = exchange(once, null, 30_000);
    const twice = exchange(faulted, { status: 429, after: '30' }, 59_000);
    const thrice = exchange(twice, { status: 429, after: '30' }, 60_000);
    expect([once, twice, thrice].map((window, i) => waitsTooLong(window, [0, 59_000, 60_000][i] ?? 0, 60_000))).toEqual(
      [false, false, true],
    );
  });

  test('any other response restarts that period', () => {
    const once = exchange(known(), { status: 429, after: '30' }, 0);
    const answered = exchange(once, { status: 500 }, 30_000);
    const again = exchange(answered, { status: 429, after: '30' }, 60_000);
    expect(waitsTooLong(again, 60_000, 60_000)).toBe(false);
  });
});

describe('a run alone on its account (R23)', () => {
  const way = (maxMs: number, silentShare: number) =>
    fc.record({
      thereMs: fc.integer({ min: 1, max: maxMs }),
      backMs: fc.integer({ min: 1, max: maxMs }),
      silent: fc.integer({ min: 0, max: 99 }).map((n) => n < silentShare),
    });

  test('it never receives a 429, whatever the quota, the delays, the order of responses and lost responses', () => {
    const run = fc.record({
      service: fc.record({
        quota: fc.integer({ min: 1, max: 12 }),
        lengthMs: fc.integer({ min: 1000, max: 20_000 }),
        startMs: fc.integer({ min: 0, max: 20_000 }),
        onGrid: fc.boolean(),
      }),
      concurrency: fc.integer({ min: 1, max: 6 }),
      ways: fc.oneof(...[50, 1500, 9000].map((ms) => fc.array(way(ms, 10), { minLength: 1, maxLength: 60 }))),
      requests: fc.constant(80),
    });
    fc.assert(
      fc.property(run, (one) => {
        expect(play(one).refusals).toBe(0);
      }),
      { numRuns: 3000 },
    );
  });

  test('it uses every window up while there is more to read', () => {
    const run = fc.record({
      service: fc.record({
        quota: fc.integer({ min: 1, max: 15 }),
        lengthMs: fc.integer({ min: 6000, max: 20_000 }),
        startMs: fc.integer({ min: 0, max: 20_000 }),
        onGrid: fc.boolean(),
      }),
      concurrency: fc.integer({ min: 1, max: 6 }),
      ways: fc.array(way(100, 0), { minLength: 1, maxLength: 60 }),
      requests: fc.constant(100),
    });
    fc.assert(
      fc.property(run, (one) => {
        const whole = play(one).usedPerWindow.slice(1, -1);
        expect(whole).toEqual(whole.map(() => one.service.quota));
      }),
      { numRuns: 1000 },
    );
  });
});
