import { SyncError } from '../core/errors.ts';
import { addRefusal, isFailedTry, NO_REFUSALS, needsProbe, type RefusalState } from '../core/quota/refusals.ts';
import { retryDelayMs } from '../core/quota/retry-delay.ts';
import { type Classification, classify, exhausted, type RetriableFailure, refusedAlone } from './classify.ts';
import { type FetchRequest, noteTime, type SourceConnection, sendOnce } from './connection.ts';
import { failureOfProbe, probeTarget, waitForService } from './probe.ts';
import { PRIORITY } from './rate-limiter.ts';
import type { RequestOutcome } from './send.ts';

/** A request, and its tries so far. */
interface TryState<T> {
  readonly connection: SourceConnection;
  readonly request: FetchRequest<T>;
  readonly failures: RetriableFailure[];
  refusals: RefusalState;
}

/**
 * Sends a request until a response decides. The loop ends, because each turn returns, throws or adds a failed try, and
 * there are at most `retries` + 1 of these (R24). Two kinds of turns add none: a refusal (429) while everything is
 * refused, for at most `maxWaitMs` (R23), and an answered probe, after which the next refusal is a failed try (R9).
 */
export async function fetchWhole<T>(connection: SourceConnection, request: FetchRequest<T>): Promise<T> {
  const state: TryState<T> = { connection, request, failures: [], refusals: NO_REFUSALS };
  try {
    for (;;) {
      const verdict = await tryOnce(state);
      if (verdict?.kind === 'done') return verdict.value;
      if (verdict?.kind === 'failed') throw verdict.error;
      if (verdict?.kind === 'retry') await afterFailure(state, verdict.failure);
      if (verdict?.kind === 'refused') afterRefusal(state, verdict.atMs);
    }
  } catch (error) {
    throw withTries(error, state);
  }
}

/**
 * If the run's requests are used up between two tries of a page, the error tells the next run how many tries failed.
 */
function withTries<T>(error: unknown, { connection, request, failures }: TryState<T>): unknown {
  if (!isSpent(error) || failures.length === 0 || connection.health.isDown) return error;
  const failedTries = failures.every(({ kind }) => kind === 'slow') ? request.failedTries + failures.length : 0;
  return new SyncError(error.recovery, error.message, { cause: error, failedTries });
}

function isSpent(error: unknown): error is SyncError {
  return error instanceof SyncError && (error.recovery === 'budget' || error.recovery === 'quota');
}

/** Sends one request: its own, or a probe that shows what is refused. Null if the probe was answered or refused. */
async function tryOnce<T>(state: TryState<T>): Promise<Classification<T> | null> {
  const { connection, request, failures, refusals } = state;
  const { limiter } = connection;
  const { refused, retry, fresh } = PRIORITY;
  let probe: FetchRequest<unknown> | null = null;
  const sending = {
    send() {
      probe = needsProbe(refusals, limiter.lastPassMs) ? probeTarget(connection, request.path) : null;
      return sendOnce(connection, probe ?? request);
    },
    judge: (outcome: RequestOutcome) =>
      probe === null ? judge(connection, request, outcome) : judgeProbe(connection, probe, outcome),
  };
  return limiter.send(sending, refusals.lastMs !== null ? refused : failures.length > 0 ? retry : fresh);
}

function judge<T>(
  connection: SourceConnection,
  { path, description, decode, beginsRun = false }: FetchRequest<T>,
  outcome: RequestOutcome,
): Classification<T> {
  const verdict = classify(outcome, description, decode);
  if (beginsRun && verdict.kind === 'retry' && verdict.failure.setupAdvice !== null) {
    // No further try would mend it (R24).
    const { text, setupAdvice, cause } = verdict.failure;
    const error = new SyncError('stream', `GET ${description.path}: ${text}. ${setupAdvice}`, { cause });
    return { kind: 'failed', error };
  }
  if (verdict.kind === 'done') noteTime(connection, outcome.answer?.headers ?? {});
  if (verdict.kind === 'retry') connection.health.noteFailure(path);
  else if (verdict.kind !== 'refused') connection.health.noteAnswer();
  return verdict;
}

function judgeProbe(
  connection: SourceConnection,
  probe: FetchRequest<unknown>,
  outcome: RequestOutcome,
): Classification<never> | null {
  const failure = failureOfProbe(connection, probe, outcome);
  if (failure === null) return null;
  connection.health.noteFailure(probe.path);
  // Not `slow`: the failed probe says nothing about the page itself, so halving it would not help.
  return { kind: 'retry', failure: { ...failure, kind: 'broken', text: `a probe of another list: ${failure.text}` } };
}

function isUsedUp<T>({ connection, request, failures }: TryState<T>): boolean {
  return request.failedTries + failures.length > connection.options.retries;
}

/** Counts a refusal that is a failed try. The wait before the next try is that of the whole account. */
function afterRefusal<T>(state: TryState<T>, atMs: number): void {
  const { limiter } = state.connection;
  if (isFailedTry(state.refusals, limiter.lastPassMs)) state.failures.push(refusedAlone());
  state.refusals = addRefusal(state.refusals, atMs, limiter.lastPassMs);
  if (isUsedUp(state)) throw exhausted(state.failures, state.request);
}

async function afterFailure<T>(state: TryState<T>, failure: RetriableFailure): Promise<void> {
  const { connection, request, failures } = state;
  const { limiter, options } = connection;
  const { path, description } = request;
  failures.push(failure);
  if (limiter.stopped !== null && !(isSpent(limiter.stopped) && isUsedUp(state))) throw limiter.stopped;
  const wasAway = limiter.stopped === null && (await waitForService(connection, path));
  if (isUsedUp(state)) throw exhausted(failures, request);
  if (wasAway) return;
  const delayMs = retryDelayMs({
    failures: failures.length,
    random: options.random(),
    retryAfterMs: failure.retryAfterMs,
    maxWaitMs: options.maxWaitMs,
  });
  await limiter.backOff(delayMs, `GET ${description.path}: ${failure.text}`);
}
