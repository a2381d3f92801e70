import { SyncError } from '../core/errors.ts';
import { isAway } from '../core/quota/outage.ts';
import { isFailedTry, NO_REFUSALS, needsProbe, type RefusalState, refusedAgain } from '../core/quota/refusals.ts';
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
import { acquire, backOff, noteAnswer, noteFailure, PRIORITY } from './rate-limiter.ts';
import type { RequestOutcome } from './send.ts';

/** The tries of one request so far. */
interface TryState {
  /** The number of tries that failed in earlier runs (R24). */
  readonly before: number;
  readonly troubles: RetriableFailure[];
  refusals: RefusalState;
}

/**
 * Sends a request until an answer decides. The loop ends, because each turn returns, throws or adds a failed try, and there are at
 * most `retries` + 1 of these (R24). Two turns add none: a refusal (429) while everything is refused, which lasts at most
 * `maxWaitMs` (R23), and a probe that is answered, after which the next refusal is a failed try (R9).
 */
export async function fetchWhole<T>(sourceConnection: SourceConnection, fetchRequest: FetchRequest<T>): Promise<T> {
  const tryState: TryState = { before: fetchRequest.failedTries ?? 0, troubles: [], refusals: NO_REFUSALS };
  try {
    for (;;) {
      const verdict = await tryOnce(sourceConnection, fetchRequest, tryState);
      if (verdict?.kind === 'done') return verdict.value;
      if (verdict?.kind === 'failed') throw verdict.error;
      if (verdict?.kind === 'again') await afterFailure(sourceConnection, fetchRequest, tryState, verdict.trouble);
      if (verdict?.kind === 'refused') afterRefusal(sourceConnection, fetchRequest.asked, tryState, verdict.atMs);
    }
  } catch (error) {
    throw withTries(error, sourceConnection, tryState);
  }
}

/** The requests of a run may be spent between two tries of a page. The error then tells the next run how many tries failed. */
function withTries(error: unknown, { gate }: SourceConnection, { before, troubles }: TryState): unknown {
  if (!isSpent(error) || troubles.length === 0 || isAway(gate.outage)) return error;
  const failedTries = troubles.every(({ kind }) => kind === 'slow') ? before + troubles.length : 0;
  return new SyncError(error.recovery, error.message, { cause: error, failedTries });
}

function isSpent(error: unknown): error is SyncError {
  return error instanceof SyncError && (error.recovery === 'budget' || error.recovery === 'quota');
}

/** Sends one request: its own, or a probe that tells who is refused. Null when the probe was answered or refused. */
async function tryOnce<T>(
  sourceConnection: SourceConnection,
  fetchRequest: FetchRequest<T>,
  { troubles, refusals }: TryState,
): Promise<Classification<T> | null> {
  const { gate } = sourceConnection;
  const { refused, again, fresh } = PRIORITY;
  let isProbe = false;
  const sending = {
    send() {
      isProbe = needsProbe(refusals, gate.lastPassMs);
      return isProbe ? sendProbe(sourceConnection, fetchRequest.path) : sendOnce(sourceConnection, fetchRequest);
    },
    judge: (requestOutcome: RequestOutcome) =>
      isProbe ? judgeProbe(sourceConnection, requestOutcome) : judge(sourceConnection, fetchRequest, requestOutcome),
  };
  return acquire(gate, sending, refusals.lastMs !== null ? refused : troubles.length > 0 ? again : fresh);
}

function judge<T>(
  sourceConnection: SourceConnection,
  { path, asked, decode }: FetchRequest<T>,
  requestOutcome: RequestOutcome,
): Classification<T> {
  const verdict = classify(requestOutcome, asked, decode);
  if (verdict.kind === 'done') noteTime(sourceConnection, requestOutcome.answer?.headers ?? {});
  if (verdict.kind === 'again') noteFailure(sourceConnection.gate, path);
  else if (verdict.kind !== 'refused') noteAnswer(sourceConnection.gate);
  return verdict;
}

function judgeProbe(sourceConnection: SourceConnection, requestOutcome: RequestOutcome): Classification<never> | null {
  const trouble = failureOfProbe(sourceConnection, requestOutcome);
  if (trouble === null) return null;
  // Not `slow`: the failed probe tells nothing about the page itself, so half the limit would not help.
  return { kind: 'again', trouble: { ...trouble, kind: 'broken', text: `a probe of another list: ${trouble.text}` } };
}

function isUsedUp({ before, troubles }: TryState, { retries }: SourceConnection['options']): boolean {
  return before + troubles.length > retries;
}

/** Counts a refusal that is a failed try. The wait before the next try is that of the whole account. */
function afterRefusal(
  { gate, options }: SourceConnection,
  requestDescription: RequestDescription,
  tryState: TryState,
  atMs: number,
): void {
  if (isFailedTry(tryState.refusals, gate.lastPassMs)) tryState.troubles.push(refusedAlone());
  tryState.refusals = refusedAgain(tryState.refusals, atMs, gate.lastPassMs);
  if (isUsedUp(tryState, options)) throw exhausted(tryState.troubles, requestDescription, tryState.before);
}

async function afterFailure<T>(
  sourceConnection: SourceConnection,
  { path, asked }: FetchRequest<T>,
  tryState: TryState,
  retriableFailure: RetriableFailure,
): Promise<void> {
  const { gate, options } = sourceConnection;
  const { troubles, before } = tryState;
  troubles.push(retriableFailure);
  if (gate.stopped !== null && !(isSpent(gate.stopped) && isUsedUp(tryState, options))) throw gate.stopped;
  const wasAway = gate.stopped === null && (await waitForService(sourceConnection, path));
  if (isUsedUp(tryState, options)) throw exhausted(troubles, asked, before);
  if (wasAway) return;
  const delayMs = retryDelayMs({
    failures: troubles.length,
    random: options.random(),
    retryAfterMs: retriableFailure.retryAfterMs,
    maxWaitMs: options.maxWaitMs,
  });
  await backOff(gate, delayMs, `GET ${asked.path}: ${retriableFailure.text}`);
}
