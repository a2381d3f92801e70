import { isOver } from '../core/quota/outage.ts';
import { probeRequest } from '../core/quota/probe-request.ts';
import { retryDelayMs } from '../core/quota/retry-delay.ts';
import { classify, type RetriableFailure, serviceAway } from './classify.ts';
import { type FetchRequest, fetchRequestOf, type SourceConnection, sendOnce } from './connection.ts';
import { decodeEnvelope } from './envelope.ts';
import { PRIORITY } from './rate-limiter.ts';
import type { RequestOutcome } from './send.ts';

/** Why a probe failed; null if it was answered, or refused (429), which says nothing about the service. */
export function failureOfProbe(
  { health }: SourceConnection,
  { description, decode }: FetchRequest<unknown>,
  outcome: RequestOutcome,
): RetriableFailure | null {
  const verdict = classify(outcome, description, decode);
  if (verdict.kind === 'done' || verdict.kind === 'failed') health.noteAnswer();
  return verdict.kind === 'retry' ? verdict.failure : null;
}

/**
 * During an outage, the request that noticed it probes the service, and all others wait for the result.
 * @returns whether there was an outage, which is now over
 * @throws SyncError `run` if the outage lasts (R24)
 */
export async function waitForService(connection: SourceConnection, path: readonly string[]): Promise<boolean> {
  const { health, limiter } = connection;
  if (!health.isDown) return false;
  await (health.recovery ?? probeUntilBack(connection, path));
  if (limiter.stopped !== null) throw limiter.stopped;
  return true;
}

/** The loop ends: each turn is answered, uses one of the probe's tries, or is refused, for at most `maxWaitMs`. */
async function probeUntilBack(connection: SourceConnection, path: readonly string[]): Promise<void> {
  const { health, limiter, options } = connection;
  const recovery = health.awaitRecovery();
  let retryAfterMs: number | null = null;
  for (;;) {
    const failures = health.outage.probes + 1;
    await limiter.backOff(
      retryDelayMs({ failures, random: options.random(), retryAfterMs, maxWaitMs: options.maxWaitMs }),
      'several lists failed in a row, the service seems to be unavailable',
    );
    // Another request that was still in flight may have been answered meanwhile.
    if (health.recovery !== recovery) return;
    const probe = probeTarget(connection, path);
    const send = () => sendOnce(connection, probe);
    const judge = (outcome: RequestOutcome) => failureOfProbe(connection, probe, outcome);
    const failure = await limiter.send({ send, judge }, PRIORITY.probe);
    if (failure === null) {
      if (health.recovery !== recovery) return;
      continue;
    }
    retryAfterMs = failure.retryAfterMs;
    health.noteFailedProbe(probe.path);
    if (isOver(health.outage, options.retries))
      return limiter.stop(serviceAway(failure, probe.description.path, health.outage.probes));
  }
}

/** A request for a row of another list than `own`, because `own` is refused or fails. */
export function probeTarget(connection: SourceConnection, own: readonly string[]): FetchRequest<unknown> {
  const { environments, options, health } = connection;
  const elsewhere = { environments, lists: options.lists, avoid: health.outage.lists };
  return fetchRequestOf(connection, probeRequest(connection.probes++, elsewhere, own), decodeEnvelope);
}
