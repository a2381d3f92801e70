import { and, desc, eq, inArray, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { alertDeliveries, alertRules, alerts } from '../../schema/alerts.ts';
import { environments } from '../../schema/assets.ts';
import type { Alert, AlertEnvironment, AlertKind } from '../../src/core/alerts/alert.ts';
import { messageText } from '../../src/core/alerts/alert-text.ts';
import type { AlertChange } from '../../src/core/alerts/decide-alerts.ts';
import { ruleKey } from '../../src/core/alerts/decide-alerts.ts';
import type { AlertDelivery, DeliveryResult, OpenAlert } from '../../src/core/alerts/delivery.ts';
import { addDays, type Instant } from '../../src/core/time/instant.ts';
import {
  all,
  first,
  insertStatement,
  queryBuilder,
  type StateStatements,
  update,
  upsertInto,
} from '../state-statements.ts';

/** The alerts of an environment that have not ended; all kinds without `kinds`. */
export function* loadAlerts(envId: string, kinds?: readonly AlertKind[]): StateStatements<Alert[]> {
  const ofKinds = kinds === undefined ? undefined : inArray(alerts.kind, [...kinds]);
  const stored = yield* all(
    queryBuilder
      .select()
      .from(alerts)
      .where(and(eq(alerts.env_id, envId), isNull(alerts.ended_at), ofKinds))
      .orderBy(alerts.id),
  );
  return stored.map(decode);
}

function decode(row: typeof alerts.$inferSelect): Alert {
  return {
    ...{ id: row.id, rule: row.rule, kind: row.kind as AlertKind, subject: row.subject },
    members: JSON.parse(row.members),
    ...{ begunAt: row.begun_at, endedAt: row.ended_at, isSilent: row.silent === 1, notifiedAt: row.notified_at },
    ...{ messages: row.messages, snoozedUntil: row.snoozed_until },
    to: JSON.parse(row.channels),
    message: row.message === null ? null : JSON.parse(row.message),
  };
}

/** Writes an alert and, if there is something to say, a message for each of its channels. */
export function* saveAlert(
  envId: string,
  { alert, event, isDropped }: AlertChange,
  at: Instant,
): StateStatements<void> {
  const { id, rule, kind, subject } = alert;
  if (isDropped) {
    yield sql`delete from ${alerts} where ${and(eq(alerts.env_id, envId), eq(alerts.id, id))}`;
    return;
  }
  const row = {
    ...{ env_id: envId, id, rule, kind, subject, members: JSON.stringify(alert.members) },
    ...{ begun_at: alert.begunAt, ended_at: alert.endedAt, silent: Number(alert.isSilent) },
    ...{ notified_at: alert.notifiedAt, messages: alert.messages, snoozed_until: alert.snoozedUntil },
    channels: JSON.stringify(alert.to),
    message: alert.message === null ? null : JSON.stringify(alert.message),
  };
  yield upsertInto(alerts, row, [alerts.env_id, alerts.id]);
  if (event === null) return;
  const waiting = { env_id: envId, alert_id: id, number: alert.messages, created_at: alert.endedAt ?? at, attempts: 0 };
  const message = JSON.stringify({ ...alert.message, event });
  for (const channel of new Set(alert.to)) yield insertStatement(alertDeliveries, { ...waiting, channel, message });
}

/** The rules that were applied in an environment before, by `ruleKey`. */
export function* loadApplied(envId: string): StateStatements<Set<string>> {
  const known = yield* all(queryBuilder.select().from(alertRules).where(eq(alertRules.env_id, envId)));
  return new Set(known.map(({ rule, kind }) => ruleKey(rule, kind as AlertKind)));
}

export function* saveApplied(envId: string, rule: string, kind: AlertKind, at: Instant): StateStatements<void> {
  yield sql`${insertStatement(alertRules, { env_id: envId, rule, kind, applied_at: at })} on conflict do nothing`;
}

/** An environment by its id; null for the id of the whole mirror. */
export function* loadEnvironment(envId: string): StateStatements<AlertEnvironment | null> {
  if (envId === '') return null;
  const { id, name } = environments;
  const found = yield* first(queryBuilder.select({ id, name }).from(environments).where(eq(id, envId)));
  return found ?? { id: envId, name: envId };
}

/** How many messages a run sends to a channel; the next run sends the rest. */
const MAX_SENT = 2000;

/**
 * The environments whose alerts a run decides and sends at its end: its own, the whole mirror, and those that are no
 * longer listed. Another run may be sending the messages of all others.
 */
export function* reportedEnvironments(envIds: readonly string[]): StateStatements<string[]> {
  return ['', ...envIds, ...(yield* unlistedEnvironments())];
}

export function* unlistedEnvironments(): StateStatements<string[]> {
  const { id, missing_since } = environments;
  const found = yield* all(queryBuilder.select({ id }).from(environments).where(isNotNull(missing_since)).orderBy(id));
  return found.map((row) => row.id);
}

/** The messages of a channel that a run is to deliver, those of an alert in their order. */
export function* loadOutstanding(name: string, envIds: readonly string[]): StateStatements<AlertDelivery[]> {
  const { env_id, alert_id, number, channel, message, created_at, delivered_at } = alertDeliveries;
  const ours = yield* reportedEnvironments(envIds);
  const stored = yield* all(
    queryBuilder
      .select({ env_id, alert_id, number, channel, message })
      .from(alertDeliveries)
      .where(and(isNull(delivered_at), inArray(env_id, ours), eq(channel, name)))
      .orderBy(created_at, alert_id, number)
      .limit(MAX_SENT),
  );
  return stored.map((row) => ({ ...row, message: JSON.parse(row.message) }));
}

export function* recordDelivery(delivery: AlertDelivery, { at, error }: DeliveryResult): StateStatements<void> {
  const attempts = sql`${sql.identifier('attempts')} + 1`;
  yield update(
    alertDeliveries,
    { attempts: attempts as never, error, ...(error === null ? { delivered_at: at } : {}) },
    isDelivery(delivery),
  );
}

/** Whether a message still waits: meanwhile another run may have delivered it. */
export function* isOutstanding(delivery: AlertDelivery): StateStatements<boolean> {
  const { number, delivered_at } = alertDeliveries;
  const waiting = and(isDelivery(delivery), isNull(delivered_at));
  return (yield* first(queryBuilder.select({ number }).from(alertDeliveries).where(waiting))) !== undefined;
}

function isDelivery(delivery: AlertDelivery): SQL | undefined {
  const { env_id, alert_id, number, channel } = alertDeliveries;
  return and(
    ...[eq(env_id, delivery.env_id), eq(alert_id, delivery.alert_id)],
    ...[eq(number, delivery.number), eq(channel, delivery.channel)],
  );
}

const KEPT_DAYS = 90;

/** Deletes what ended long ago. `now` is T if the run has it. */
export function* pruneAlerts(envId: string, now: Instant): StateStatements<void> {
  const before = addDays(now, -KEPT_DAYS);
  yield sql`delete from ${alertDeliveries} where ${and(eq(alertDeliveries.env_id, envId), lt(alertDeliveries.created_at, before))}`;
  yield sql`delete from ${alerts} where ${and(eq(alerts.env_id, envId), lt(alerts.ended_at, before))}`;
}

/** The alerts that have begun and not ended, the newest first. */
export function* loadOpenAlerts(): StateStatements<OpenAlert[]> {
  const { begun_at, ended_at } = alerts;
  const stored = yield* all(
    queryBuilder
      .select()
      .from(alerts)
      .where(and(isNull(ended_at), sql`${begun_at} is not null`))
      .orderBy(desc(begun_at), alerts.id),
  );
  return stored.map((row): OpenAlert => {
    const { message, members, begunAt } = decode(row);
    return {
      ...{
        key: row.id,
        rule: row.rule,
        kind: row.kind,
        env_id: row.env_id,
        environment: message?.environment?.name ?? null,
      },
      ...{ subject: row.subject, title: message === null ? row.subject : messageText(message, null).title },
      ...{ conditions: Object.keys(members).length, begun_at: begunAt ?? '' },
      ...{ silent: row.silent, snoozed_until: row.snoozed_until },
    };
  });
}

/** Stops the reminders of open alerts whose id begins with `key`. @returns their ids */
export function* snoozeAlerts(key: string, until: Instant): StateStatements<string[]> {
  const open = (yield* loadOpenAlerts()).filter((alert) => alert.key.startsWith(key));
  const isOne = ({ env_id, key: id }: OpenAlert): SQL | undefined => and(eq(alerts.env_id, env_id), eq(alerts.id, id));
  // Only one: a beginning that several share says too little.
  if (open.length === 1) for (const alert of open) yield update(alerts, { snoozed_until: until }, isOne(alert));
  return open.map((alert) => alert.key);
}
