import { isAway, isOver, listFailed, probeFailed } from '../core/quota/outage.ts';
import { probeRequest } from '../core/quota/probe-request.ts';
import { retryDelayMs } from '../core/quota/retry-delay.ts';
import { classify, type RetriableFailure, secretOf, serviceAway } from './classify.ts';
import { type FetchRequest, type SourceConnection, sendOnce } from './connection.ts';
import { decodePage } from './envelope.ts';
import { stop } from './limiter-state.ts';
import { acquire, backOff, noteAnswer, PRIORITY } from './rate-limiter.ts';
import type { RequestOutcome } from './send.ts';
import { endpointPath, pageTarget } from './target.ts';

/** Asks another list than `own` for a row, because `own` is refused or fails. */
export function sendProbe(sourceConnection: SourceConnection, own: readonly string[]): Promise<RequestOutcome> {
  return sendOnce(sourceConnection, askElsewhere(sourceConnection, own));
}

/** Why a probe failed; null when it was answered, and when it was refused (429), which tells nothing about the service. */
export function failureOfProbe(
  { gate, options }: SourceConnection,
  requestOutcome: RequestOutcome,
): RetriableFailure | null {
  const verdict = classify(requestOutcome, { path: '', secret: options.token, advice: null }, decodePage);
  if (verdict.kind === 'done' || verdict.kind === 'failed') noteAnswer(gate);
  return verdict.kind === 'again' ? verdict.trouble : null;
}

/**
 * During an outage the request that noticed it probes the service, and all others wait for the result.
 * @returns whether there was an outage, which is over now @throws SyncError `run` when the outage lasts (R24)
 */
export async function waitForService(sourceConnection: SourceConnection, path: readonly string[]): Promise<boolean> {
  const { gate } = sourceConnection;
  if (!isAway(gate.outage)) return false;
  if (gate.back === null) await probeUntilBack(sourceConnection, path);
  else await gate.back.promise;
  if (gate.stopped !== null) throw gate.stopped;
  return true;
}

/** The loop ends: each turn is answered, uses one of the probe's tries, or is refused, which lasts at most `maxWaitMs`. */
async function probeUntilBack(sourceConnection: SourceConnection, path: readonly string[]): Promise<void> {
  const { gate, options } = sourceConnection;
  const back = Promise.withResolvers<void>();
  gate.back = back;
  let retryAfterMs: number | null = null;
  for (;;) {
    const failures = gate.outage.probes + 1;
    await backOff(
      gate,
      retryDelayMs({ failures, random: options.random(), retryAfterMs, maxWaitMs: options.maxWaitMs }),
      'several lists failed in a row, the service seems to be unavailable',
    );
    // Another request, which was still in flight, may have been answered meanwhile.
    if (gate.back !== back) return;
    const ask = askElsewhere(sourceConnection, path);
    const send = () => sendOnce(sourceConnection, ask);
    const judge = (requestOutcome: RequestOutcome) => failureOfProbe(sourceConnection, requestOutcome);
    const trouble = await acquire(gate, { send, judge }, PRIORITY.probe);
    if (trouble === null) {
      if (gate.back !== back) return;
      continue;
    }
    retryAfterMs = trouble.retryAfterMs;
    gate.outage = probeFailed(listFailed(gate.outage, ask.path));
    if (isOver(gate.outage, options.retries))
      return stop(gate, serviceAway(trouble, ask.asked.path, gate.outage.probes));
  }
}

function askElsewhere(sourceConnection: SourceConnection, own: readonly string[]): FetchRequest<unknown> {
  const { environments, options, gate } = sourceConnection;
  const elsewhere = { environments, lists: options.lists, avoid: gate.outage.lists };
  const request = probeRequest(sourceConnection.probes++, elsewhere, own);
  const asked = { path: endpointPath(request.path), ...secretOf(options), advice: null };
  return { path: request.path, target: pageTarget(request), asked, decode: decodePage, onRequest: undefined };
}
