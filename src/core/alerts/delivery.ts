import type { Instant } from '../time/instant.ts';
import type { AlertEnvironment, AlertFacts, AlertMessage, AlertRule } from './alert.ts';
import type { AlertChange } from './decide-alerts.ts';

/** A message that waits for its channel. */
export interface AlertDelivery {
  readonly env_id: string;
  readonly alert_id: string;
  /** Its place among the messages of the alert, from 1. */
  readonly number: number;
  readonly channel: string;
  readonly message: AlertMessage;
  /** How often the channel refused this very message. */
  readonly refusals: number;
}

/** A message that its channel has refused so often is given up, so those behind it are sent. */
export const MAX_REFUSALS = 5;

/** How an attempt to deliver ended; `error` is null if it succeeded. */
export interface DeliveryResult {
  readonly at: Instant;
  readonly error: string | null;
  /** Whether the channel refused this very message. */
  readonly isRefused?: boolean;
}

/** What a run knows only when it ends. */
export interface RunAlerts {
  readonly rules: readonly AlertRule[];
  readonly run: number;
  /** T, or the machine's time without it. */
  readonly now: Instant;
  /** Whether the token was refused, and whether the quota was exhausted; null if the run did not find out. */
  readonly isTokenRefused: boolean | null;
  readonly isQuotaExhausted: boolean | null;
  readonly error: string | null;
  /** The environments whose leases the run has. */
  readonly envIds: readonly string[];
  /** The streams that every run reads: the oldest one decides how stale the mirror is. */
  readonly streams: readonly string[];
}

/** An alert that has begun and not ended. */
export interface OpenAlert {
  readonly key: string;
  readonly rule: string;
  readonly kind: string;
  readonly env_id: string;
  readonly environment: string | null;
  readonly subject: string;
  readonly title: string;
  readonly conditions: number;
  readonly begun_at: Instant;
  /** 1 if it existed before its rule: nothing was sent about it. */
  readonly silent: number;
  readonly snoozed_until: Instant | null;
}

/** Two deliveries with the same key are the same message. */
export function idempotencyKey({ alert_id, number }: Pick<AlertDelivery, 'alert_id' | 'number'>): string {
  return `${alert_id}-${number}`;
}

const MAX_NAMES = 10;

/** What is said about an alert now: a reminder is about a condition that it has now, its end about its beginning. */
export function messageOf(
  { alert, event, condition }: AlertChange,
  environment: AlertEnvironment | null,
  impact: AlertMessage['impact'],
): AlertMessage {
  const members = Object.values(alert.members);
  const begun = event === 'remind' && condition !== null ? null : alert.message;
  const facts = begun?.facts ?? condition?.facts ?? { name: alert.subject };
  // A grouped alert may be about several dimensions.
  const isOfOne = condition?.key === alert.subject;
  return {
    alert: alert.id,
    event: event ?? 'begin',
    ...{ rule: alert.rule, kind: alert.kind, environment, subject: alert.subject },
    facts,
    labels: alert.message?.labels ?? labelsOf(isOfOne ? facts : { ...facts, dimension: null }, environment),
    count: members.length,
    names: members.slice(0, MAX_NAMES).map(({ name }) => name),
    begun_at: alert.begunAt ?? alert.notifiedAt ?? alert.endedAt ?? '',
    ended_at: alert.endedAt,
    impact: begun === null ? impact : begun.impact,
  };
}

function labelsOf(
  { severity, dimension, owners = [] }: AlertFacts,
  environment: AlertEnvironment | null,
): AlertMessage['labels'] {
  return {
    ...(environment === null ? {} : { environment: environment.name }),
    ...(severity == null ? {} : { severity }),
    ...(dimension == null ? {} : { dimension }),
    ...(owners.length === 0 ? {} : { owner: owners.join(', ') }),
  };
}
