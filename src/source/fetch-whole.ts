import { SyncError } from '../core/errors.ts';
import { isAway } from '../core/outage.ts';
import { isFailedTry, NO_REFUSALS, needsProbe, type Refusals, refusedAgain } from '../core/refusals.ts';
import { retryDelayMs } from '../core/retry-delay.ts';
import { type Asked, classify, exhausted, refusedAlone, type Trouble, type Verdict } from './classify.ts';
import { type Ask, type Connection, noteTime, sendOnce } from './connection.ts';
import { backOff, noteAnswer, noteFailure, PRIORITY, pass } from './gate.ts';
import { sendProbe, troubleOfProbe, waitForService } from './probe.ts';
import type { Outcome } from './send.ts';

/** The tries of one request so far. */
interface Tries {
  /** The number of tries that failed in earlier runs (R24). */
  readonly before: number;
  readonly troubles: Trouble[];
  refusals: Refusals;
}

/**
 * Sends a request until an answer decides. The loop ends, because each turn returns, throws or adds a failed try, and there are at
 * most `retries` + 1 of these (R24). Two turns add none: a refusal (429) while everything is refused, which lasts at most
 * `maxWaitMs` (R23), and a probe that is answered, after which the next refusal is a failed try (R9).
 */
export async function fetchWhole<T>(connection: Connection, ask: Ask<T>): Promise<T> {
  const tries: Tries = { before: ask.failedTries ?? 0, troubles: [], refusals: NO_REFUSALS };
  try {
    for (;;) {
      const verdict = await tryOnce(connection, ask, tries);
      if (verdict?.kind === 'done') return verdict.value;
      if (verdict?.kind === 'failed') throw verdict.error;
      if (verdict?.kind === 'again') await afterFailure(connection, ask, tries, verdict.trouble);
      if (verdict?.kind === 'refused') afterRefusal(connection, ask.asked, tries, verdict.atMs);
    }
  } catch (error) {
    throw withTries(error, connection, tries);
  }
}

/** The requests of a run may be spent between two tries of a page. The error then tells the next run how many tries failed. */
function withTries(error: unknown, { gate }: Connection, { before, troubles }: Tries): unknown {
  if (!isSpent(error) || troubles.length === 0 || isAway(gate.outage)) return error;
  const failedTries = troubles.every(({ kind }) => kind === 'slow') ? before + troubles.length : 0;
  return new SyncError(error.recovery, error.message, { cause: error, failedTries });
}

function isSpent(error: unknown): error is SyncError {
  return error instanceof SyncError && (error.recovery === 'budget' || error.recovery === 'quota');
}

/** Sends one request: its own, or a probe that tells who is refused. Null when the probe was answered or refused. */
async function tryOnce<T>(
  connection: Connection,
  ask: Ask<T>,
  { troubles, refusals }: Tries,
): Promise<Verdict<T> | null> {
  const { gate } = connection;
  const { refused, again, fresh } = PRIORITY;
  let isProbe = false;
  const sending = {
    send() {
      isProbe = needsProbe(refusals, gate.lastPassMs);
      return isProbe ? sendProbe(connection, ask.path) : sendOnce(connection, ask);
    },
    judge: (outcome: Outcome) => (isProbe ? judgeProbe(connection, outcome) : judge(connection, ask, outcome)),
  };
  return pass(gate, sending, refusals.lastMs !== null ? refused : troubles.length > 0 ? again : fresh);
}

function judge<T>(connection: Connection, { path, asked, decode }: Ask<T>, outcome: Outcome): Verdict<T> {
  const verdict = classify(outcome, asked, decode);
  if (verdict.kind === 'done') noteTime(connection, outcome.answer?.headers ?? {});
  if (verdict.kind === 'again') noteFailure(connection.gate, path);
  else if (verdict.kind !== 'refused') noteAnswer(connection.gate);
  return verdict;
}

function judgeProbe(connection: Connection, outcome: Outcome): Verdict<never> | null {
  const trouble = troubleOfProbe(connection, outcome);
  if (trouble === null) return null;
  // Not `slow`: the failed probe tells nothing about the page itself, so half the limit would not help.
  return { kind: 'again', trouble: { ...trouble, kind: 'broken', text: `a probe of another list: ${trouble.text}` } };
}

function isUsedUp({ before, troubles }: Tries, { retries }: Connection['options']): boolean {
  return before + troubles.length > retries;
}

/** Counts a refusal that is a failed try. The wait before the next try is that of the whole account. */
function afterRefusal({ gate, options }: Connection, asked: Asked, tries: Tries, atMs: number): void {
  if (isFailedTry(tries.refusals, gate.lastPassMs)) tries.troubles.push(refusedAlone());
  tries.refusals = refusedAgain(tries.refusals, atMs, gate.lastPassMs);
  if (isUsedUp(tries, options)) throw exhausted(tries.troubles, asked, tries.before);
}

async function afterFailure<T>(
  connection: Connection,
  { path, asked }: Ask<T>,
  tries: Tries,
  trouble: Trouble,
): Promise<void> {
  const { gate, options } = connection;
  const { troubles, before } = tries;
  troubles.push(trouble);
  if (gate.stopped !== null && !(isSpent(gate.stopped) && isUsedUp(tries, options))) throw gate.stopped;
  const wasAway = gate.stopped === null && (await waitForService(connection, path));
  if (isUsedUp(tries, options)) throw exhausted(troubles, asked, before);
  if (wasAway) return;
  const delayMs = retryDelayMs({
    failures: troubles.length,
    random: options.random(),
    retryAfterMs: trouble.retryAfterMs,
    maxWaitMs: options.maxWaitMs,
  });
  await backOff(gate, delayMs, `GET ${asked.path}: ${trouble.text}`);
}
