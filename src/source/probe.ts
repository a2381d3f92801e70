import { isAway, isOver, listFailed, probeFailed } from '../core/outage.ts';
import { probeRequest } from '../core/probe-request.ts';
import { retryDelayMs } from '../core/retry-delay.ts';
import { classify, secretOf, serviceAway, type Trouble } from './classify.ts';
import { type Ask, type Connection, sendOnce } from './connection.ts';
import { decodePage } from './decode.ts';
import { backOff, noteAnswer, PRIORITY, pass, stop } from './gate.ts';
import type { Outcome } from './send.ts';
import { endpointPath, pageTarget } from './target.ts';

/** Asks another list than `own` for a row, because `own` is refused or fails. */
export function sendProbe(connection: Connection, own: readonly string[]): Promise<Outcome> {
  return sendOnce(connection, askElsewhere(connection, own));
}

/** Why a probe failed; null when it was answered, and when it was refused (429), which tells nothing about the service. */
export function troubleOfProbe({ gate, options }: Connection, outcome: Outcome): Trouble | null {
  const verdict = classify(outcome, { path: '', secret: options.token, advice: null }, decodePage);
  if (verdict.kind === 'done' || verdict.kind === 'failed') noteAnswer(gate);
  return verdict.kind === 'again' ? verdict.trouble : null;
}

/**
 * During an outage the request that noticed it probes the service, and all others wait for the result.
 * @returns whether there was an outage, which is over now @throws SyncError `run` when the outage lasts (R24)
 */
export async function waitForService(connection: Connection, path: readonly string[]): Promise<boolean> {
  const { gate } = connection;
  if (!isAway(gate.outage)) return false;
  if (gate.back === null) await probeUntilBack(connection, path);
  else await gate.back.promise;
  if (gate.stopped !== null) throw gate.stopped;
  return true;
}

/** The loop ends: each turn is answered, uses one of the probe's tries, or is refused, which lasts at most `maxWaitMs`. */
async function probeUntilBack(connection: Connection, path: readonly string[]): Promise<void> {
  const { gate, options } = connection;
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
    const ask = askElsewhere(connection, path);
    const send = () => sendOnce(connection, ask);
    const judge = (outcome: Outcome) => troubleOfProbe(connection, outcome);
    const trouble = await pass(gate, { send, judge }, PRIORITY.probe);
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

function askElsewhere(connection: Connection, own: readonly string[]): Ask<unknown> {
  const { environments, options, gate } = connection;
  const elsewhere = { environments, lists: options.lists, avoid: gate.outage.lists };
  const request = probeRequest(connection.probes++, elsewhere, own);
  const asked = { path: endpointPath(request.path), ...secretOf(options), advice: null };
  return { path: request.path, target: pageTarget(request), asked, decode: decodePage, onRequest: undefined };
}
