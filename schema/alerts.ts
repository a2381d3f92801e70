import { sql } from 'drizzle-orm';
import { index, primaryKey } from 'drizzle-orm/sqlite-core';
import { flag, integer, json, text, time } from './column-types.ts';
import { envId } from './common-columns.ts';
import { table } from './table.ts';

/*
 * The alerts of a mirror, and the messages about them that wait for a channel. They are written in the transaction of
 * the change that they are about. Without rules, these tables stay empty.
 */

const rule = () => text('the name of the rule').notNull();
const kind = () => text('what it is about, such as `test` or `stale`').notNull();

export const alerts = table(
  'alerts',
  'A row per alert of a rule: while its conditions hold, and for 90 days after its end.',
  {
    env_id: envId(),
    id: text('identifies the alert, also for `obsync alerts snooze`').notNull(),
    rule: rule(),
    kind: kind(),
    subject: text('what its conditions have in common: a test, an asset, owners, a stream').notNull(),
    members: json('JSON: its conditions, with how many results in a row showed each').notNull(),
    begun_at: time('when it began; NULL while fewer results in a row show it than the rule requires'),
    ended_at: time('when it ended; NULL while it is open'),
    silent: flag('1 if it existed before its rule: neither its beginning nor its end is sent').notNull(),
    notified_at: time('when its last message was decided'),
    messages: integer('how many messages were decided').notNull(),
    snoozed_until: time('no reminders are sent until then'),
    channels: json('JSON array of the channels that its messages go to').notNull(),
    message: json('JSON: what its beginning says; NULL before'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.id] }), index('alerts_by_end').on(t.env_id, t.ended_at)],
);

/** A sender delivers at least once and in order, so an end never comes before its beginning. */
export const alertDeliveries = table(
  'alert_deliveries',
  'A row per message of an alert and channel. Every run tries again to deliver what is not delivered yet; the rest is kept for 90 days after the end of the alert.',
  {
    env_id: envId(),
    alert_id: text('the alert, `alerts.id`').notNull(),
    number: integer('its place among the messages of the alert; with the id it is the idempotency key').notNull(),
    channel: text('the name of the channel').notNull(),
    message: json('JSON: what it says').notNull(),
    created_at: time('when it was decided').notNull(),
    attempts: integer('how often it was sent').notNull().default(0),
    refusals: integer('how often the channel refused this very message; after five times it is given up')
      .notNull()
      .default(0),
    delivered_at: time('when the channel accepted it; NULL until then'),
    error: text('why the last attempt failed; NULL if it did not'),
  },
  (t) => [
    primaryKey({ columns: [t.env_id, t.alert_id, t.number, t.channel] }),
    index('alert_deliveries_waiting').on(t.env_id, t.created_at).where(sql`delivered_at is null`),
  ],
);

/** What holds when a rule is applied for the first time is not news. */
export const alertRules = table(
  'alert_rules',
  'A row per environment, rule and kind: since when the rule is applied there.',
  {
    env_id: envId(),
    rule: rule(),
    kind: kind(),
    applied_at: time('when it was first applied').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.rule, t.kind] })],
);
