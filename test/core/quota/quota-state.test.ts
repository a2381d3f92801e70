import { describe, expect, test } from 'vitest';
import {
  beginWithQuota,
  detach,
  mergeQuotaStates,
  type NotedRequest,
  type QuotaState,
  type QuotaUser,
  releasePermit,
  settleNoted,
  shiftTimes,
  takePermit,
  UNKNOWN_QUOTA,
} from '../../../src/core/quota/quota-state.ts';
import { quotaOfText, textOfQuota } from '../../../src/core/quota/quota-text.ts';
import { resumedWindow, UNKNOWN_WINDOW } from '../../../src/core/quota/rate-window.ts';
import { answerHead } from '../../source/simulated-quota.ts';

const user = (owner: string, gone: readonly string[] = []): QuotaUser => ({
  owner,
  lifetimeMs: 60_000,
  isGone: (other) => gone.includes(other),
  awaits: () => true,
});
const [A, B] = [user('a'), user('b')];

function taken(state: QuotaState, by: QuotaUser, nowMs: number): { state: QuotaState; request: NotedRequest } {
  const id = `${by.owner}${nowMs}${state.inFlight.length}`;
  const { state: after, permit } = takePermit(state, { id, user: by }, nowMs);
  if (permit.kind !== 'go') throw new Error(`expected a permit, got ${permit.kind}`);
  return { state: after, request: permit.request };
}

const asked = (state: QuotaState, by: QuotaUser, nowMs: number) =>
  takePermit(state, { id: 'asked', user: by }, nowMs).permit;

/** A window with this many requests left, which resets one minute after 0. */
function known(remaining: number): QuotaState {
  const { state, request } = taken(UNKNOWN_QUOTA, A, 0);
  return settleNoted(state, request, answerHead({ remaining, reset: 60 }), 0);
}

describe('a quota shared by several processes (R23)', () => {
  test('before the first response, all processes together have one request in flight', () => {
    const { state } = taken(UNKNOWN_QUOTA, A, 0);
    expect(asked(state, B, 10)).toEqual({ kind: 'full', others: 1, untilMs: 60_000 });
    expect(asked(state, A, 10)).toMatchObject({ kind: 'full', others: 0 });
  });

  test('all processes together have no more in flight than the window has left', () => {
    const first = taken(known(2), A, 10);
    const second = taken(first.state, B, 10);
    expect(asked(second.state, A, 10)).toMatchObject({ kind: 'full', others: 1 });
    const settled = settleNoted(second.state, first.request, answerHead({ remaining: 1, reset: 60 }), 20);
    expect(asked(settled, A, 20).kind).toBe('full');
  });

  test('taking a permit or settling a request twice has no further effect', () => {
    const first = takePermit(known(3), { id: 'r', user: A }, 10);
    expect(takePermit(first.state, { id: 'r', user: A }, 20)).toEqual(first);
    const { request } = taken(known(3), A, 10);
    const settled = settleNoted(first.state, request, answerHead({ remaining: 2, reset: 60 }), 20);
    expect(settleNoted(settled, request, answerHead({ remaining: 2, reset: 60 }), 20)).toEqual(settled);
  });

  test('a released permit costs nothing', () => {
    const { state, request } = taken(known(1), A, 10);
    expect(releasePermit(state, request)).toEqual(known(1));
  });

  test('when one process has spent the window, all wait', () => {
    expect(asked(known(0), B, 10_000)).toEqual({ kind: 'wait', delayMs: 50_000, reason: 'quota' });
  });
});

describe('a process that died (R23)', () => {
  test('its request counts as sent once the process is known to be gone', () => {
    const { state } = taken(known(2), A, 10);
    const after = takePermit(state, { id: 'x', user: user('b', ['a']) }, 20).state;
    expect(after.window).toMatchObject({ remaining: 1, uncounted: 1 });
    expect(after.inFlight.map(({ owner }) => owner)).toEqual(['b']);
  });

  test('its request counts as sent after the deadline if nothing tells whether the process is gone', () => {
    const { state } = taken(UNKNOWN_QUOTA, A, 0);
    expect(asked(state, B, 59_999).kind).toBe('full');
    expect(asked(state, B, 60_000).kind).toBe('go');
    expect(asked(state, A, 60_000).kind).toBe('full');
  });

  test('a response that arrives after all counts once', () => {
    const { state, request } = taken(known(5), A, 10);
    const { state: without } = takePermit(state, { id: 'x', user: user('b', ['a']) }, 20);
    expect(settleNoted(without, request, null, 30)).toEqual(without);
    expect(settleNoted(without, request, answerHead({ remaining: 4, reset: 60 }), 30).window.remaining).toBe(3);
  });

  test('a response that arrives after the state was lost leaves no more than it states', () => {
    const { request } = taken({ ...known(5), window: { ...known(5).window, uncounted: 3 } }, A, 10);
    expect(settleNoted(UNKNOWN_QUOTA, request, answerHead({ remaining: 4, reset: 60 }), 30).window.remaining).toBe(4);
  });
});

describe('a process that could not share the state for a while (R23)', () => {
  const request = (state: QuotaState) => state.inFlight[0] as NotedRequest;

  test('alone, it continues with what was left, and requests in flight count as sent', () => {
    const alone = detach(taken(known(5), B, 10).state, 20);
    expect(alone).toMatchObject({ window: { remaining: 4, uncounted: 1 }, inFlight: [] });
  });

  test('once it is back, the smaller remainder of the two holds for all', () => {
    const shared = known(5);
    const alone = settleNoted(
      detach(known(9), 10),
      taken(known(9), A, 10).request,
      answerHead({ remaining: 2, reset: 60 }),
      20,
    );
    expect(mergeQuotaStates(shared, alone).window.remaining).toBe(2);
    expect(mergeQuotaStates(alone, shared).window.remaining).toBe(2);
    expect(mergeQuotaStates(UNKNOWN_QUOTA, alone).window.remaining).toBe(2);
  });

  test('once it is back, the longer of the two pauses holds for all', () => {
    const spent = known(0);
    expect(asked(mergeQuotaStates(known(5), spent), B, 10_000)).toEqual({
      kind: 'wait',
      delayMs: 50_000,
      reason: 'quota',
    });
    expect(asked(mergeQuotaStates(spent, known(5)), B, 10_000)).toEqual({
      kind: 'wait',
      delayMs: 50_000,
      reason: 'quota',
    });
  });

  test('a request it sent meanwhile is in flight for all and settled like any other', () => {
    const others = taken(known(5), B, 10).state;
    const alone = taken(detach(known(5), 10), A, 10).state;
    const state = mergeQuotaStates({ ...others, window: { ...others.window, uncounted: 7 } }, alone);
    expect(state.inFlight.map(({ owner }) => owner)).toEqual(['b', 'a']);
    const settled = settleNoted(state, request(alone), answerHead({ remaining: 3, reset: 60 }), 20);
    expect(settled.inFlight.map(({ owner }) => owner)).toEqual(['b']);
    expect(settled.window.remaining).toBe(3);
  });

  test('a request of its own that ended meanwhile counts as sent and blocks nothing', () => {
    const { state } = taken(known(2), A, 10);
    const back = { ...A, awaits: (id: string) => id === 'x' };
    const after = takePermit(state, { id: 'x', user: back }, 20);
    expect(after.permit.kind).toBe('go');
    expect(after.state.window).toMatchObject({ remaining: 1, uncounted: 1 });
  });
});

describe('the quota a process starts with (R23)', () => {
  const beginning = { user: B, resumed: UNKNOWN_WINDOW, maxWaitMs: 900_000 };

  test('a window that has not ended continues', () => {
    expect(beginWithQuota(known(5), beginning, 59_000)).toEqual(known(5));
    expect(beginWithQuota(known(0), beginning, 59_000)).toEqual(known(0));
  });

  test('once the window has ended, it starts with what the mirror recorded, or with nothing', () => {
    const resumed = resumedWindow(3, 90_000);
    expect(beginWithQuota(known(5), beginning, 60_000)).toEqual(UNKNOWN_QUOTA);
    expect(beginWithQuota(known(5), { ...beginning, resumed }, 60_000)).toEqual({ window: resumed, inFlight: [] });
  });

  test('it starts with the shared state while others have requests in flight', () => {
    const { state } = taken(known(5), A, 10);
    expect(beginWithQuota(state, beginning, 59_999)).toEqual(state);
  });

  test('a wait that is too long doesn’t end a run that has sent nothing yet (R1)', () => {
    expect(beginWithQuota(known(0), { ...beginning, maxWaitMs: 1000 }, 10)).toEqual(UNKNOWN_QUOTA);
  });
});

describe('the stored quota state (R23)', () => {
  const busy = taken(known(2), A, 10).state;
  const refused = settleNoted(busy, busy.inFlight[0] as NotedRequest, answerHead({ status: 429, after: '7' }), 20);

  test.each([
    ['before the first answer', UNKNOWN_QUOTA],
    ['with a request in flight', busy],
    ['with a spent window', known(0)],
    ['after a refusal', refused],
  ])('a state %s is read back as it was written', (_, state) => {
    expect(quotaOfText(textOfQuota(state))).toEqual(state);
  });

  test('a state written by an earlier version is read, without the fields it lacked', () => {
    const text = textOfQuota(busy).replace(/"sure":\{[^}]*\},/, '');
    expect(text).not.toContain('sure');
    expect(quotaOfText(text)).toEqual({ ...busy, window: { ...busy.window, sure: null } });
  });

  test.each([
    '',
    'null',
    '[]',
    '{"version":1}',
    textOfQuota(busy).replace('"version":1', '"version":2'),
    textOfQuota(busy).replace('"id"', '"di"'),
    textOfQuota(busy).replace('"remaining":2', '"remaining":-2'),
  ])('a text that is not a state is read as an unknown quota: %s', (text) => {
    expect(quotaOfText(text)).toEqual(UNKNOWN_QUOTA);
  });

  test('shiftTimes moves every deadline and pause by the jump of the clock', () => {
    const later = shiftTimes(refused, 1000);
    expect(asked(refused, B, 20)).toEqual({ kind: 'wait', delayMs: 7000, reason: 'rate-limited' });
    expect(asked(later, B, 1020)).toEqual({ kind: 'wait', delayMs: 7000, reason: 'rate-limited' });
    expect(shiftTimes(busy, 1000).inFlight).toMatchObject([{ sentMs: 1010, deadlineMs: 61_010 }]);
    expect(shiftTimes(later, -1000)).toEqual(refused);
  });
});
