import { SyncError } from '../core/errors.ts';
import { addRefusal, isFailedTry, NO_REFUSALS, needsProbe, type RefusalState } from '../core/quota/refusals.ts';
import { retryDelayMs } from '../core/quota/retry-delay.ts';
import {
  type Classification,
  classify,
  exhausted,
  type RequestDescription,
  type RetriableFailure,
  refusedAlone,
} from './classify.ts';
import { type FetchRequest, noteTime, type SourceConnection, sendOnce } from './connection.ts';
import { failureOfProbe, sendProbe, waitForService } from './probe.ts';
import { PRIORITY } from './rate-limiter.ts';
import type { RequestOutcome } from './send.ts';

/** The tries of one request so far. */
interface TryState {
  /** The number of tries that failed in earlier runs (R24). */
  readonly before: number;
  readonly troubles: RetriableFailure[];
  refusals: RefusalState;
}

/**
 * Sends a request until an answer decides. The loop ends, because each turn returns, throws or adds a failed try, and
 * there are at most `retries` + 1 of these (R24). Two turns add none: a refusal (429) while everything is refused,
 * which lasts at most `maxWaitMs` (R23), and a probe that is answered, after which the next refusal is a failed try
 * (R9).
 */
export async function fetchWhole<T>(connection: SourceConnection, request: FetchRequest<T>): Promise<T> {
  const state: TryState = { before: request.failedTries ?? 0, troubles: [], refusals: NO_REFUSALS };
  try {
    for (;;) {
      const verdict = await tryOnce(connection, request, state);
      if (verdict?.kind === 'done') return verdict.value;
      if (verdict?.kind === 'failed') throw verdict.error;
      if (verdict?.kind === 'again') await afterFailure(connection, request, state, verdict.trouble);
      if (verdict?.kind === 'refused') afterRefusal(connection, request.asked, state, verdict.atMs);
    }
  } catch (error) {
    throw withTries(error, connection, state);
  }
}

/**
 * The requests of a run may be spent between two tries of a page. The error then tells the next run how many tries
 * failed.
 */
function withTries(error: unknown, { health }: SourceConnection, { before, troubles }: TryState): unknown {
  if (!isSpent(error) || troubles.length === 0 || health.isDown) return error;
  const failedTries = troubles.every(({ kind }) => kind === 'slow') ? before + troubles.length : 0;
  return new SyncError(error.recovery, error.message, { cause: error, failedTries });
}

function isSpent(error: unknown): error is SyncError {
  return error instanceof SyncError && (error.recovery === 'budget' || error.recovery === 'quota');
}

/** Sends one request: its own, or a probe that tells who is refused. Null when the probe was answered or refused. */
async function tryOnce<T>(
  connection: SourceConnection,
  request: FetchRequest<T>,
  { troubles, refusals }: TryState,
): Promise<Classification<T> | null> {
  const { limiter } = connection;
  const { refused, retry, fresh } = PRIORITY;
  let isProbe = false;
  const sending = {
    send() {
      isProbe = needsProbe(refusals, limiter.lastPassMs);
      return isProbe ? sendProbe(connection, request.path) : sendOnce(connection, request);
    },
    judge: (outcome: RequestOutcome) =>
      isProbe ? judgeProbe(connection, outcome) : judge(connection, request, outcome),
  };
  return limiter.send(sending, refusals.lastMs !== null ? refused : troubles.length > 0 ? retry : fresh);
}

function judge<T>(
  connection: SourceConnection,
  { path, asked, decode }: FetchRequest<T>,
  outcome: RequestOutcome,
): Classification<T> {
  const verdict = classify(outcome, asked, decode);
  if (verdict.kind === 'done') noteTime(connection, outcome.answer?.headers ?? {});
  if (verdict.kind === 'again') connection.health.noteFailure(path);
  else if (verdict.kind !== 'refused') connection.health.noteAnswer();
  return verdict;
}

function judgeProbe(connection: SourceConnection, outcome: RequestOutcome): Classification<never> | null {
  const trouble = failureOfProbe(connection, outcome);
  if (trouble === null) return null;
  // Not `slow`: the failed probe tells nothing about the page itself, so half the limit would not help.
  return { kind: 'again', trouble: { ...trouble, kind: 'broken', text: `a probe of another list: ${trouble.text}` } };
}

function isUsedUp({ before, troubles }: TryState, { retries }: SourceConnection['options']): boolean {
  return before + troubles.length > retries;
}

/** Counts a refusal that is a failed try. The wait before the next try is that of the whole account. */
function afterRefusal(
  { limiter, options }: SourceConnection,
  description: RequestDescription,
  state: TryState,
  atMs: number,
): void {
  if (isFailedTry(state.refusals, limiter.lastPassMs)) state.troubles.push(refusedAlone());
  state.refusals = addRefusal(state.refusals, atMs, limiter.lastPassMs);
  if (isUsedUp(state, options)) throw exhausted(state.troubles, description, state.before);
}

async function afterFailure<T>(
  connection: SourceConnection,
  { path, asked }: FetchRequest<T>,
  state: TryState,
  failure: RetriableFailure,
): Promise<void> {
  const { limiter, options } = connection;
  const { troubles, before } = state;
  troubles.push(failure);
  if (limiter.stopped !== null && !(isSpent(limiter.stopped) && isUsedUp(state, options))) throw limiter.stopped;
  const wasAway = limiter.stopped === null && (await waitForService(connection, path));
  if (isUsedUp(state, options)) throw exhausted(troubles, asked, before);
  if (wasAway) return;
  const delayMs = retryDelayMs({
    failures: troubles.length,
    random: options.random(),
    retryAfterMs: failure.retryAfterMs,
    maxWaitMs: options.maxWaitMs,
  });
  await limiter.backOff(delayMs, `GET ${asked.path}: ${failure.text}`);
}
