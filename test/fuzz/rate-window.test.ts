import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AnswerHead,
  observe,
  permitNow,
  type RateWindow,
  type RequestStart,
  requestStart,
  UNKNOWN_WINDOW,
  waitsTooLong,
} from '../../src/core/quota/rate-window.ts';
import { retryAfterMs, retryDelayMs } from '../../src/core/quota/retry-delay.ts';
import { answerHead } from '../source/simulated-quota.ts';
import { oddHeaders } from './odd-headers.ts';
import { LONG, tries } from './runs.ts';

/** The longest wait that headers can request: 31 years as a number, 8000 as a date. */
const LONGEST_MS = 8100 * 366 * 86_400_000;

type Step =
  | { readonly do: 'send' }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'end'; readonly which: number; readonly answer: AnswerHead | null };

const answers = fc.option(
  fc.record({ status: fc.constantFrom(200, 200, 200, 429, 429, 500, 503), headers: oddHeaders }),
);
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('send') }),
  fc.record({
    do: fc.constant('pass'),
    ms: fc.oneof(fc.nat(3000), fc.nat(10_000_000), fc.double({ min: 0, max: 10, noNaN: true })),
  }),
  fc.record({ do: fc.constant('end'), which: fc.nat(9), answer: answers }),
);

function expectSound(window: RateWindow, ended: number): void {
  expect(Object.keys(window)).toEqual(Object.keys(UNKNOWN_WINDOW));
  const { remaining, uncounted, refusals, resetAtMs, refusedSinceMs, pause } = window;
  for (const count of [remaining ?? 0, uncounted, refusals])
    expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
  expect(Math.max(uncounted, refusals)).toBeLessThanOrEqual(ended);
  for (const ms of [resetAtMs, refusedSinceMs ?? 0, pause?.untilMs ?? 0])
    expect(ms < Number.POSITIVE_INFINITY).toBe(true);
}

test(
  'whatever the headers say, each wait is finite and ends in a permit, and the state does not grow (R23)',
  LONG,
  () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 60 }), (happenings) => {
        const inFlight: RequestStart[] = [];
        let [window, nowMs, ended] = [UNKNOWN_WINDOW, 0, 0];
        for (const step of happenings) {
          if (step.do === 'send') inFlight.push(requestStart(window, nowMs));
          else if (step.do === 'pass') nowMs += step.ms;
          else {
            const [departure = requestStart(window, nowMs)] = inFlight.splice(
              step.which % Math.max(1, inFlight.length),
              1,
            );
            window = observe(window, departure, step.answer, nowMs);
            ended++;
          }
          expectSound(window, ended);
          const allowance = permitNow(window, nowMs);
          if (allowance.kind === 'go') expect(allowance.inFlight).toBeGreaterThanOrEqual(1);
          else {
            expect(allowance.delayMs).toBeGreaterThan(0);
            expect(allowance.delayMs).toBeLessThan(LONGEST_MS);
            expect(permitNow(window, nowMs + allowance.delayMs).kind).toBe('go');
            expect(waitsTooLong(window, nowMs, allowance.delayMs - 1)).toBe(true);
          }
        }
      }),
      tries(300),
    );
  },
);

test('the delay before a retry is bounded, whatever Retry-After says (R24)', LONG, () => {
  const waits = fc.record({
    failures: fc.integer({ min: 1, max: 101 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    headers: oddHeaders,
    maxWaitMs: fc.nat(604_800_000),
  });
  fc.assert(
    fc.property(waits, ({ headers, ...wait }) => {
      const delayMs = retryDelayMs({ ...wait, retryAfterMs: retryAfterMs(headers) });
      expect(delayMs).toBeGreaterThanOrEqual(0);
      expect(delayMs).toBeLessThanOrEqual(Math.max(30_000, wait.maxWaitMs));
    }),
    tries(1000),
  );
});

/** A request in flight. If the service counted it, it has a response. */
interface Traveller {
  readonly departure: RequestStart;
  answer: AnswerHead | null;
}

const quotas = fc.record({
  quota: fc.integer({ min: 1, max: 8 }),
  lengthMs: fc.integer({ min: 1000, max: 15_000 }),
  turns: fc.array(fc.record({ which: fc.nat(9), ms: fc.nat(900), noise: fc.oneof(fc.constant(null), oddHeaders) }), {
    minLength: 1,
  }),
});

/** Values of the quota headers that do not look like a quota. */
function muddled(answer: AnswerHead, noise: Record<string, string>): AnswerHead {
  const { 'ratelimit-remaining': _, 'ratelimit-reset': __, ...others } = noise;
  return { ...answer, headers: { ...others, 'ratelimit-remaining': `about ${noise['ratelimit-remaining']}` } };
}

test('responses without quota headers never lead beyond the quota (R23)', LONG, () => {
  fc.assert(
    fc.property(quotas, ({ quota, lengthMs, turns }) => {
      const inFlight: Traveller[] = [];
      let [window, nowMs, endMs, used] = [UNKNOWN_WINDOW, 0, lengthMs, 0];
      for (let i = 0; i < 150; i++) {
        const { which, ms, noise } = turns[i % turns.length] as (typeof turns)[number];
        nowMs += ms;
        const allowance = permitNow(window, nowMs);
        if (allowance.kind === 'go' && inFlight.length < Math.min(6, allowance.inFlight))
          inFlight.push({ departure: requestStart(window, nowMs), answer: null });
        else if (inFlight.length === 0 && allowance.kind === 'wait') nowMs += allowance.delayMs;
        const next = inFlight[which % Math.max(1, inFlight.length)];
        if (next === undefined) continue;
        if (next.answer === null) {
          if (nowMs >= endMs) [endMs, used] = [nowMs + lengthMs, 0];
          expect(++used).toBeLessThanOrEqual(quota);
          next.answer = answerHead({ remaining: quota - used, reset: Math.ceil((endMs - nowMs) / 1000) });
        } else {
          inFlight.splice(inFlight.indexOf(next), 1);
          // The limiter knows only the first responses. Without them it cannot respect the quota.
          const headers = noise === null || window.pause !== null ? next.answer : muddled(next.answer, noise);
          window = observe(window, next.departure, headers, nowMs);
        }
      }
    }),
    tries(300),
  );
});
