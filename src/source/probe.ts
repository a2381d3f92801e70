import { isAway, isOver, listFailed, probeFailed } from '../core/outage.ts';
import { probeRequest } from '../core/probe-request.ts';
import { retryDelayMs } from '../core/retry-delay.ts';
import { classify, secretOf, serviceAway, type Trouble } from './classify.ts';
import { type Ask, type Connection, sendOnce } from './connection.ts';
import { decodePage } from './decode.ts';
import { backOff, noteAnswer, PRIORITY, pass, stop } from './gate.ts';
import type { Outcome } from './send.ts';
import { endpointPath, pageTarget } from './target.ts';

/** Asks for a row elsewhere than at `own`, which is refused or fails. */
export function sendProbe(connection: Connection, own: readonly string[]): Promise<Outcome> {
  return sendOnce(connection, askElsewhere(connection, own));
}

/** Why a probe failed; null when it was answered, or refused (429), which says nothing of the service. */
export function troubleOfProbe({ gate, options }: Connection, outcome: Outcome): Trouble | null {
  const verdict = classify(outcome, { path: '', secret: options.token, advice: null }, decodePage);
  if (verdict.kind === 'done' || verdict.kind === 'failed') noteAnswer(gate);
  return verdict.kind === 'again' ? verdict.trouble : null;
}

/**
 * While the service is away the one that noticed probes it, and all others wait for what that meets. @returns whether it was
 * away and is back. @throws SyncError `run` when it stays away (R24)
 */
export async function waitForService(connection: Connection, path: readonly string[]): Promise<boolean> {
  const { gate } = connection;
  if (!isAway(gate.outage)) return false;
  if (gate.back === null) await probeUntilBack(connection, path);
  else await gate.back.promise;
  if (gate.stopped !== null) throw gate.stopped;
  return true;
}

/** It ends: each turn is answered, uses up one of the probe's tries, or is refused, which the gate bears for `maxWaitMs`. */
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
      'several lists fail alike, the service seems to be away',
    );
    // Another request, in flight all the while, may have been answered.
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
