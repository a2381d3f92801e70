import type { AlertChannel } from '../core/alerts/channel.ts';
import { type AlertDelivery, type DeliveryResult, idempotencyKey } from '../core/alerts/delivery.ts';
import type { Instant } from '../core/time/instant.ts';
import { DeliveryError } from './deliver.ts';

/** What a sender needs; `deliver` throws a `DeliveryError`. */
export interface SenderPorts {
  outstanding(): Promise<readonly AlertDelivery[]>;
  record(delivery: AlertDelivery, result: DeliveryResult): Promise<void>;
  deliver(channel: AlertChannel, delivery: AlertDelivery, key: string): Promise<void>;
  now(): Instant;
  /** Aborted when the time of all deliveries is over. */
  readonly signal: AbortSignal;
}

export interface SentAlerts {
  readonly delivered: number;
  readonly failed: number;
  /** The first reason; null if all were delivered. */
  readonly error: string | null;
}

/**
 * Delivers what waits, at least once: a crash between a delivery and its record repeats it with the same key. The
 * messages of an alert stay in order on each channel, so an end never comes before its beginning.
 */
export async function sendAlerts(channels: readonly AlertChannel[], ports: SenderPorts): Promise<SentAlerts> {
  const byName = new Map(channels.map((channel) => [channel.name, channel]));
  const blocked = new Set<string>();
  let [delivered, failed, error]: [number, number, string | null] = [0, 0, null];
  for (const delivery of await ports.outstanding()) {
    const channel = byName.get(delivery.channel);
    // It waits until the config has the channel again, or for 90 days.
    if (channel === undefined) continue;
    const alert = `${delivery.channel} ${delivery.env_id} ${delivery.alert_id}`;
    if (ports.signal.aborted || blocked.has(delivery.channel) || blocked.has(alert)) {
      failed += 1;
      continue;
    }
    const problem = await attempt(ports, channel, delivery);
    if (problem === null) delivered += 1;
    else {
      failed += 1;
      blocked.add(problem.isOfMessage ? alert : delivery.channel);
      error ??= `${delivery.channel}: ${problem.message}`;
    }
  }
  return { delivered, failed, error: failed > 0 ? (error ?? 'there was no time for all of them') : null };
}

async function attempt(
  ports: SenderPorts,
  channel: AlertChannel,
  delivery: AlertDelivery,
): Promise<DeliveryError | null> {
  let problem: DeliveryError | null = null;
  try {
    await ports.deliver(channel, delivery, idempotencyKey(delivery));
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error;
    problem = error;
  }
  await ports.record(delivery, { at: ports.now(), error: problem?.message ?? null });
  return problem;
}
