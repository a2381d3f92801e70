import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  beginWithQuota,
  type NotedRequest,
  type QuotaState,
  type QuotaUser,
  settleNoted,
  shiftTimes,
  takePermit,
  UNKNOWN_QUOTA,
} from '../../src/core/quota/quota-state.ts';
import { quotaOfText, textOfQuota } from '../../src/core/quota/quota-text.ts';
import { type AnswerHead, UNKNOWN_WINDOW } from '../../src/core/quota/rate-window.ts';
import { answerHead } from '../source/simulated-quota.ts';
import { LONG, tries } from './runs.ts';

const LIFETIME_MS = 20_000;
const CONCURRENCY = 4;

/** A request of a process, on its way to the service or back with the response. */
interface Journey {
  readonly request: NotedRequest;
  answer: AnswerHead | null;
}

interface Process {
  readonly user: QuotaUser;
  begun: boolean;
  readonly journeys: Journey[];
}

interface Turn {
  readonly process: number;
  readonly journey: number;
  readonly ms: number;
  /** A fault: the process is killed, visibly to the others or not, or the clock of the quota store is set. */
  readonly event: 'killed' | 'vanished' | 'clock' | null;
}

const turns = fc.array(
  fc.record({
    process: fc.nat(7),
    journey: fc.nat(3),
    ms: fc.nat(400),
    event: fc.oneof(
      { weight: 40, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom('killed' as const, 'vanished' as const, 'clock' as const) },
    ),
  }),
  { minLength: 20, maxLength: 60 },
);

const games: fc.Arbitrary<Game> = fc.record({
  processes: fc.integer({ min: 1, max: 8 }),
  limit: fc.integer({ min: 1, max: 12 }),
  lengthMs: fc.integer({ min: 1000, max: 15_000 }),
  jumpMs: fc.integer({ min: -86_400_000, max: 86_400_000 }),
  turns,
});

interface Game {
  readonly processes: number;
  readonly limit: number;
  readonly lengthMs: number;
  readonly jumpMs: number;
  readonly turns: readonly Turn[];
}

/** The service's side: it counts every request that reaches it, and refuses those beyond the limit. */
function serve(limit: number, lengthMs: number) {
  const windows: { used: number }[] = [];
  let [endMs, refused] = [0, 0];
  return {
    windows,
    refused: () => refused,
    /** How many requests the current window has left; 0 if it has ended. */
    left: (nowMs: number) => (nowMs >= endMs ? 0 : limit - Number(windows.at(-1)?.used)),
    answer(nowMs: number): AnswerHead {
      if (nowMs >= endMs) {
        endMs = nowMs + lengthMs;
        windows.push({ used: 0 });
      }
      const window = windows.at(-1) as { used: number };
      const reset = Math.ceil((endMs - nowMs) / 1000);
      if (window.used >= limit) {
        refused++;
        return answerHead({ status: 429, after: `${reset}` });
      }
      window.used++;
      return answerHead({ remaining: limit - window.used, reset });
    },
  };
}

/** Several processes that share one state, in any order of steps. Each step reads and writes the state. */
function playTogether({ processes: count, limit, lengthMs, jumpMs, turns }: Game) {
  const service = serve(limit, lengthMs);
  const gone = new Set<string>();
  const waits: number[] = [];
  let [kept, nowMs, aheadMs, ids, kills] = [textOfQuota(UNKNOWN_QUOTA), 0, 1_000_000_000_000, 0, 0];
  const change = (step: (state: QuotaState, atMs: number) => QuotaState) => {
    kept = textOfQuota(step(quotaOfText(kept), nowMs + aheadMs));
  };
  const open = (): Process => ({
    user: { owner: `p${ids++}`, lifetimeMs: LIFETIME_MS, isGone: (owner) => gone.has(owner), awaits: () => true },
    begun: false,
    journeys: [],
  });
  const processes = Array.from({ length: count }, open);

  const ask = (process: Process): number | null => {
    let delayMs: number | null = null;
    change((state, atMs) => {
      const beginning = { user: process.user, resumed: UNKNOWN_WINDOW, maxWaitMs: 900_000 };
      const known = process.begun ? state : beginWithQuota(state, beginning, atMs);
      process.begun = true;
      const { state: after, permit } = takePermit(known, { id: `r${ids++}`, user: process.user }, atMs);
      if (permit.kind === 'go') process.journeys.push({ request: permit.request, answer: null });
      if (permit.kind === 'wait') waits.push(service.left(nowMs));
      delayMs = permit.kind === 'go' ? null : permit.kind === 'wait' ? permit.delayMs : permit.untilMs - atMs;
      return after;
    });
    return delayMs;
  };
  const travel = (process: Process, which: number): void => {
    const journey = process.journeys[which % process.journeys.length];
    if (journey === undefined) return;
    if (journey.answer === null) {
      journey.answer = service.answer(nowMs);
      return;
    }
    process.journeys.splice(process.journeys.indexOf(journey), 1);
    change((state, atMs) => settleNoted(state, journey.request, journey.answer, atMs));
  };
  const kill = (which: number, seen: boolean): void => {
    // If the response to a single request is lost, it is unknown whether the request was counted.
    if (quotaOfText(kept).window.pause !== null) return;
    const [dead] = processes.splice(which, 1, open());
    if (dead === undefined) return;
    kills++;
    if (seen) gone.add(dead.user.owner);
    // The requests that it had sent still reach the service.
    for (const journey of dead.journeys) if (journey.answer === null) service.answer(nowMs);
  };

  for (let i = 0; i < 400; i++) {
    const turn = turns[i % turns.length] as Turn;
    nowMs += turn.ms;
    const which = turn.process % count;
    if (turn.event === 'killed' || turn.event === 'vanished') kill(which, turn.event === 'killed');
    if (turn.event === 'clock') {
      aheadMs += jumpMs;
      kept = textOfQuota(shiftTimes(quotaOfText(kept), jumpMs));
    }
    const process = processes[which] as Process;
    const delayMs = process.journeys.length < CONCURRENCY ? ask(process) : null;
    travel(process, turn.journey);
    const isIdle = processes.every(({ journeys }) => journeys.length === 0);
    if (isIdle && delayMs !== null && Number.isFinite(delayMs)) nowMs += Math.max(0, delayMs);
  }
  return { ...service, kills, waits };
}

test(
  'no request is refused, in whatever order processes send, receive and die, and whatever the clock does (R23)',
  LONG,
  () => {
    fc.assert(
      fc.property(games, (game) => {
        expect(playTogether(game).refused()).toBe(0);
      }),
      tries(300),
    );
  },
);

test('no process waits while the window has requests left, unless a process died (R23)', LONG, () => {
  fc.assert(
    fc.property(games, (game) => {
      const { waits, kills, windows } = playTogether(game);
      expect(windows.length).toBeGreaterThan(0);
      if (kills === 0) expect(waits.filter((left) => left > 0)).toEqual([]);
    }),
    tries(300),
  );
});
