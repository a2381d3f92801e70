import type { AlertChannel } from '../core/alerts/alert.ts';
import { type AlertDelivery, idempotencyKey, MAX_REFUSALS } from '../core/alerts/delivery.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import type { Instant } from '../core/time/instant.ts';
import { DeliveryError } from './deliver.ts';

/** What a sender needs; `deliver` throws a `DeliveryError`. */
export interface SenderPorts {
  readonly state: Pick<StateStore, 'outstandingDeliveries' | 'isOutstanding' | 'recordDelivery'>;
  readonly envIds: readonly string[];
  deliver(channel: AlertChannel, delivery: AlertDelivery, key: string): Promise<void>;
  now(): Instant;
  /** Aborted when the time of all deliveries is over. */
  readonly signal: AbortSignal;
}

/**
 * Delivers what waits, at least once: a crash between a delivery and its record repeats it with the same key. The
 * messages about one thing stay in order on each channel, so an end never comes before its beginning, nor after the
 * next one.
 */
export async function sendAlerts(channels: readonly AlertChannel[], ports: SenderPorts) {
  const sent = await Promise.all(channels.map((channel) => sendTo(channel, ports)));
  return {
    delivered: sent.reduce((sum, { delivered }) => sum + delivered, 0),
    failed: sent.reduce((sum, { failed }) => sum + failed, 0),
    /** The first reason; null if all were delivered. */
    error: sent.find(({ error }) => error !== null)?.error ?? null,
  };
}

const GIVEN_UP = `The message is given up after ${MAX_REFUSALS} attempts`;
const REPEATED = 'The next run tries again';

async function sendTo(channel: AlertChannel, ports: SenderPorts) {
  const { state, envIds, signal } = ports;
  const blocked = new Set<string>();
  let isBlocked = false;
  let [delivered, failed, error]: [number, number, string | null] = [0, 0, null];
  for (const delivery of await state.outstandingDeliveries(channel.name, envIds)) {
    const { rule, kind, subject } = delivery.message;
    const about = JSON.stringify([delivery.env_id, rule, kind, subject]);
    if (signal.aborted || isBlocked || blocked.has(about)) {
      failed += 1;
      error ??= `${channel.name}: there was no time for all messages. ${REPEATED}`;
      continue;
    }
    if (!(await state.isOutstanding(delivery))) continue;
    const problem = await attempt(ports, channel, delivery);
    if (problem === null) delivered += 1;
    else {
      failed += 1;
      const isGivenUp = problem.isRefused && delivery.refusals + 1 >= MAX_REFUSALS;
      error ??= `${channel.name}: ${problem.message}. ${isGivenUp ? GIVEN_UP : REPEATED}`;
      isBlocked = !problem.isOfMessage;
      if (!isGivenUp) blocked.add(about);
    }
  }
  return { delivered, failed, error };
}

async function attempt(
  ports: SenderPorts,
  channel: AlertChannel,
  delivery: AlertDelivery,
): Promise<DeliveryError | null> {
  const sending = ports.deliver(channel, delivery, idempotencyKey(delivery));
  const problem = await sending.then(() => null, asDeliveryError);
  const { message: error = null, isRefused = false } = problem ?? {};
  await ports.state.recordDelivery(delivery, { at: ports.now(), error, isRefused });
  return problem;
}

function asDeliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  throw error;
}
