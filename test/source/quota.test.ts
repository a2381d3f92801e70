import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileKeeper } from '../../state/quota-file.ts';
import type { Reply } from '../support/api-server.ts';
import { testFolder } from '../support/test-folder.ts';
import { always, answerWith } from './nock-setup.ts';
import { ASSETS, failureOf, pages, quota, refusal, virtualTime } from './setup.ts';

describe('the quota', () => {
  test('nothing waits for the reset if there is nothing left to send (R23)', async () => {
    const { source, time } = answerWith([quota(0, 60)]);
    await source.page(ASSETS);
    expect(time.slept).toEqual([]);
  });
});

describe('the quota left by an earlier run', () => {
  test('the first request waits for the reset if the earlier run left no quota (R23)', async () => {
    const { requests, source, time, events } = answerWith([quota(9, 60)]);
    source.resumeQuota?.({ remaining: 0, resetSeconds: 12.5 });
    await source.page(ASSETS);
    expect([requests.length, time.slept]).toEqual([1, [12_500]]);
    expect(events).toContainEqual({ type: 'wait', reason: 'quota', delayMs: 12_500 });
  });

  test('no more requests are sent than the earlier run left, until a response states the quota (R23)', async () => {
    const { source, time } = answerWith([{}, {}, quota(9, 60)]);
    source.resumeQuota?.({ remaining: 2, resetSeconds: 30 });
    for (let i = 0; i < 3; i++) await source.page(ASSETS);
    expect(time.slept).toEqual([30_000]);
  });

  test('a long wait left by an earlier run doesn’t end the run, as the local clock may be wrong (R23, R1)', async () => {
    const { requests, source, time } = answerWith([{}], { maxWaitMs: 10_000 });
    source.resumeQuota?.({ remaining: 0, resetSeconds: 3600 });
    await source.page(ASSETS);
    expect([requests.length, time.slept]).toEqual([1, []]);
  });
});

describe('a 429', () => {
  test('it is not a failed attempt while everything is refused, however often it comes (R23)', async () => {
    const { source, time } = answerWith([refusal('2'), refusal('2'), refusal('2'), always({})], { retries: 0 });
    await source.page(ASSETS);
    expect(time.slept).toEqual([2000, 2000, 2000]);
  });

  test('it pauses the whole account (R23)', async () => {
    const { requests, source, time, events } = answerWith([{}, refusal('5'), always({})], { concurrency: 1 });
    await pages(source, 4);
    expect(requests).toHaveLength(5);
    expect(time.slept).toEqual([5000]);
    expect(events).toContainEqual({ type: 'wait', reason: 'rate-limited', delayMs: 5000 });
  });

  test('the first value counts if a response has a header twice (R23)', async () => {
    const { source, time } = answerWith([{ status: 429, headers: { 'retry-after': ['7', '9'] } }, {}]);
    await source.page(ASSETS);
    expect(time.slept).toEqual([7000]);
  });

  test('after its pause, a page that was not refused goes first (R23)', async () => {
    const { requests, source } = answerWith([refusal('1'), always({})], { concurrency: 1 });
    await Promise.all([source.page({ ...ASSETS, path: ['a'] }), source.page({ ...ASSETS, path: ['b'] })]);
    expect(requests.map(({ target }) => target.slice(13, 14))).toEqual(['a', 'b', 'a']);
  });
});

describe('the longest wait', () => {
  test.each<[string, Reply]>([
    ['a Retry-After', refusal('1200')],
    ['a reset of the quota', quota(0, 1200)],
  ])('%s beyond the longest wait ends the run, and the message says when to try again (R23)', async (_, reply) => {
    const { requests, source, time } = answerWith([reply], { maxWaitMs: 900_000 });
    const failure = await failureOf(pages(source, 2));
    expect(failure.recovery).toBe('quota');
    expect(failure.message).toContain('2026-11-20T04:30:00Z, in 20 minutes');
    expect([requests.length, time.slept]).toEqual([1, []]);
  });

  test('the run ends when it has received only 429 for the longest wait (R23)', async () => {
    const { requests, source, time } = answerWith([always(refusal('2'))], { maxWaitMs: 5000 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
    expect(time.slept).toEqual([2000, 2000, 2000]);
    expect(requests).toHaveLength(4);
  });

  test('a clock that is set back meanwhile does not make it longer (R1, R23)', async () => {
    const time = virtualTime();
    const path = join(testFolder(), 'quota.db');
    const midnightMs = Date.parse('2026-11-20T00:00:00Z');
    let setMs = 0;
    const now = () => ({ wallMs: midnightMs + setMs + time.clock.nowMs(), uptimeMs: time.clock.nowMs() });
    const quotaKeeper = fileKeeper({ path: () => path, account: 'one', now });
    const refuse = () => {
      if (requests.length === 2) setMs = -3_600_000;
      return refusal('2');
    };
    const { requests, source } = answerWith([always(refuse)], { ...time, quotaKeeper, maxWaitMs: 5000 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
    expect(requests).toHaveLength(4);
  });

  test('every waiting call fails, and nothing more is sent (R23)', async () => {
    const { requests, source } = answerWith([refusal('1200')]);
    const failures = await Promise.all([failureOf(source.page(ASSETS)), failureOf(source.page(ASSETS))]);
    expect(failures.map(({ recovery }) => recovery)).toEqual(['quota', 'quota']);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
    expect(requests).toHaveLength(1);
  });
});

describe('the request limit', () => {
  test('the run stops before the first request beyond the limit', async () => {
    const { requests, source } = answerWith([always({})], { maxRequests: 3 });
    await pages(source, 3);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect(requests).toHaveLength(3);
  });

  test.each<[string, Reply]>([
    ['a retry', { status: 500 }],
    ['a 429', refusal('1')],
  ])('%s counts like any other request', async (_, reply) => {
    const { requests, source } = answerWith([always(reply)], { maxRequests: 2, retries: 9 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect([requests.length, source.requests()]).toEqual([2, 2]);
  });

  test('requests in flight still get their responses when the limit is reached', async () => {
    const { requests, source } = answerWith([always({})], { maxRequests: 3 });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => source.page(ASSETS)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(requests).toHaveLength(3);
  });

  test('with a limit of 0 nothing is sent', async () => {
    const { requests, source } = answerWith([], { maxRequests: 0 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect(requests).toHaveLength(0);
  });
});
