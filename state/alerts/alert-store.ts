import { and, desc, eq, inArray, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { alertDeliveries, alertRules, alerts } from '../../schema/alerts.ts';
import { environments } from '../../schema/assets.ts';
import type { Alert, AlertEnvironment, AlertKind, AlertMessage } from '../../src/core/alerts/alert.ts';
import { messageText } from '../../src/core/alerts/alert-text.ts';
import type { AlertChange } from '../../src/core/alerts/decide-alerts.ts';
import { ruleKey } from '../../src/core/alerts/decide-alerts.ts';
import {
  type AlertDelivery,
  type DeliveryResult,
  MAX_REFUSALS,
  type OpenAlert,
} from '../../src/core/alerts/delivery.ts';
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

const selectOpen = (condition: SQL | undefined) =>
  queryBuilder
    .select()
    .from(alerts)
    .where(and(isNull(alerts.ended_at), condition));

/** The alerts of an environment that have not ended; all kinds without `kinds`. */
export function* loadAlerts(envId: string, kinds?: readonly AlertKind[]): StateStatements<Alert[]> {
  const ofKinds = kinds === undefined ? undefined : inArray(alerts.kind, [...kinds]);
  const stored = yield* all(selectOpen(and(eq(alerts.env_id, envId), ofKinds)));
  // Sorted here: a database would read all that have ended in the order of the key.
  return stored.map(decode).sort((one, other) => (one.id < other.id ? -1 : 1));
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

/**
 * Writes an alert and, if there is something to say, a message for each of its channels. It never writes
 * `snoozed_until`: that is for people.
 */
export function* saveAlert(
  envId: string,
  { alert, event, isDropped }: AlertChange,
  { message: said, at }: { readonly message: AlertMessage; readonly at: Instant },
): StateStatements<void> {
  const { id, rule, kind, subject } = alert;
  if (isDropped) {
    yield sql`delete from ${alerts} where ${and(eq(alerts.env_id, envId), eq(alerts.id, id))}`;
    return;
  }
  const row = {
    ...{ env_id: envId, id, rule, kind, subject, members: JSON.stringify(alert.members) },
    ...{ begun_at: alert.begunAt, ended_at: alert.endedAt, silent: Number(alert.isSilent) },
    ...{ notified_at: alert.notifiedAt, messages: alert.messages, channels: JSON.stringify(alert.to) },
    message: alert.begunAt === null ? null : JSON.stringify(alert.message ?? said),
  };
  yield upsertInto(alerts, row, [alerts.env_id, alerts.id]);
  if (event === null) return;
  const waiting = { env_id: envId, alert_id: id, number: alert.messages, created_at: alert.endedAt ?? at, attempts: 0 };
  const message = JSON.stringify(said);
  for (const channel of new Set(alert.to)) yield insertStatement(alertDeliveries, { ...waiting, channel, message });
}

/** The rules that were applied in an environment before, by `ruleKey`. */
export function* loadApplied(envId: string): StateStatements<Set<string>> {
  const known = yield* all(queryBuilder.select().from(alertRules).where(eq(alertRules.env_id, envId)));
  return new Set(known.map(({ rule, kind }) => ruleKey(rule, kind as AlertKind)));
}

export function* saveApplied(envId: string, rule: string, kind: AlertKind, at: Instant): StateStatements<void> {
  yield insertStatement(alertRules, { env_id: envId, rule, kind, applied_at: at }, 'on conflict do nothing');
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
function* reportedEnvironments(envIds: readonly string[]): StateStatements<string[]> {
  return [...new Set(['', ...envIds, ...(yield* unlistedEnvironments())])];
}

export function* unlistedEnvironments(): StateStatements<string[]> {
  const { id, missing_since } = environments;
  const found = yield* all(queryBuilder.select({ id }).from(environments).where(isNotNull(missing_since)).orderBy(id));
  return found.map((row) => row.id);
}

/** The messages of a channel that a run is to deliver, those of an alert in their order. */
export function* loadOutstanding(name: string, envIds: readonly string[]): StateStatements<AlertDelivery[]> {
  const { env_id, alert_id, number, channel, message, created_at, refusals } = alertDeliveries;
  const columns = { env_id, alert_id, number, channel, message, created_at, refusals };
  const stored: Pick<typeof alertDeliveries.$inferSelect, keyof typeof columns>[] = [];
  for (const envId of yield* reportedEnvironments(envIds)) {
    const waiting = and(isWaiting(), eq(env_id, envId), eq(channel, name));
    const select = queryBuilder.select(columns).from(alertDeliveries).where(waiting);
    stored.push(...(yield* all(select.orderBy(created_at, alert_id, number).limit(MAX_SENT))));
  }
  // Times and ids have one length each.
  const order = ({ created_at: at, alert_id: id, number: n }: (typeof stored)[number]): string =>
    `${at} ${id} ${String(n).padStart(12, '0')}`;
  const oldest = stored.sort((one, other) => (order(one) < order(other) ? -1 : 1)).slice(0, MAX_SENT);
  return oldest.map(({ created_at: _, ...row }) => ({ ...row, message: JSON.parse(row.message) }));
}

/** Neither delivered nor given up. */
const isWaiting = (): SQL | undefined =>
  and(isNull(alertDeliveries.delivered_at), lt(alertDeliveries.refusals, MAX_REFUSALS));

export function* countWaiting(envIds: readonly string[]): StateStatements<ReadonlyMap<string, number>> {
  const { env_id, channel } = alertDeliveries;
  const number = sql<number>`count(*)`.as('number');
  const counts = new Map<string, number>();
  for (const envId of yield* reportedEnvironments(envIds)) {
    const waiting = and(isWaiting(), eq(env_id, envId));
    const select = queryBuilder.select({ channel, number }).from(alertDeliveries).where(waiting);
    for (const row of yield* all(select.groupBy(channel).orderBy(channel)))
      counts.set(row.channel, (counts.get(row.channel) ?? 0) + Number(row.number));
  }
  return counts;
}

export function* recordDelivery(
  delivery: AlertDelivery,
  { at, error, isRefused = false }: DeliveryResult,
): StateStatements<void> {
  const { attempts, refusals } = alertDeliveries;
  const counts = { attempts: sql`${attempts} + 1`, refusals: sql`${refusals} + ${Number(isRefused)}` };
  const delivered = error === null ? { delivered_at: at } : {};
  yield update(alertDeliveries, { ...counts, ...delivered, error }, isDelivery(delivery));
}

export function* isOutstanding(delivery: AlertDelivery): StateStatements<boolean> {
  const { number } = alertDeliveries;
  const waiting = and(isDelivery(delivery), isWaiting());
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

/** Deletes alerts that ended long ago, with their messages; those with a message that still waits stay. */
export function* pruneAlerts(now: Instant, envIds: readonly string[]): StateStatements<void> {
  for (const envId of yield* reportedEnvironments(envIds)) {
    const values = { env: envId, before: addDays(now, -KEPT_DAYS), max: MAX_REFUSALS };
    const waits = `exists (select 1 from alert_deliveries d where d.env_id = @env and d.alert_id = a.id
      and d.delivered_at is null and d.refusals < @max)`;
    const old = `select a.id from alerts as a where a.env_id = @env and a.ended_at < @before and not ${waits}`;
    yield { sql: `delete from alert_deliveries where env_id = @env and alert_id in (${old})`, values };
    yield { sql: `delete from alerts where env_id = @env and id in (${old})`, values };
  }
}

/** The alerts that have begun and not ended, the newest first. */
export function* loadOpenAlerts(): StateStatements<OpenAlert[]> {
  const { begun_at, id } = alerts;
  const stored = yield* all(selectOpen(isNotNull(begun_at)).orderBy(desc(begun_at), id));
  return stored.map((row): OpenAlert => {
    const { message, members, begunAt } = decode(row);
    const count = Object.keys(members).length;
    const environment = message?.environment?.name ?? null;
    const title = message === null ? row.subject : messageText({ ...message, count }, null).title;
    return {
      ...{ key: row.id, rule: row.rule, kind: row.kind, env_id: row.env_id, environment },
      ...{ subject: row.subject, title },
      ...{ conditions: count, begun_at: begunAt ?? '' },
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
