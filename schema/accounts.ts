import { sql } from 'drizzle-orm';
import { index, pgSchema, primaryKey, timestamp } from 'drizzle-orm/pg-core';
import { count, text } from './postgres-columns.ts';

/*
 * The accounts that workers sync, in a schema of their own. They exist only in PostgreSQL, and stay on one node if the
 * database shards.
 */

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });

export const accountsSchema = pgSchema('obsync_accounts');

/** One row per account. The token is never here, only where it is found (R25). */
export const accounts = accountsSchema.table(
  'accounts',
  {
    name: text('name').primaryKey(),
    base_url: text('base_url').notNull(),
    /** The variable of the worker that holds the token; NULL if a file does. */
    token_env: text('token_env'),
    /** The file of the worker's host that holds the token; NULL if a variable does. */
    token_file: text('token_file'),
    mirror_schema: text('mirror_schema').notNull().unique(),
    /** The cron expression (UTC) of all environments; NULL if each has its own. */
    cron: text('cron'),
    /** The seconds to wait after the time of an environment's own cron expression. */
    delay_seconds: count('delay_seconds').notNull(),
    /** The options of its syncs, as JSON, in the names of the library. */
    options: text('options').notNull(),
    added_at: time('added_at').notNull().default(sql`now()`),
    /** When its environments were last listed; NULL if they never were. */
    listed_at: time('listed_at'),
    /** Why the last listing failed; NULL if it did not. */
    listing_error: text('listing_error'),
    listing_due_at: time('listing_due_at').notNull().default(sql`now()`),
    /** The worker that claimed the listing; NULL if none has. */
    worker: text('worker'),
  },
  (t) => [index('accounts_listing_due').on(t.listing_due_at)],
);

/** The environments of the accounts: when each is due, how its last sync ended, and who syncs it. Also the queue. */
export const accountEnvironments = accountsSchema.table(
  'account_environments',
  {
    account: text('account').notNull(),
    env_id: text('env_id').notNull(),
    name: text('name').notNull(),
    /** Its own cron expression, as listed. */
    cron: text('cron'),
    /** When its next sync is due; NULL if it has no cron expression with a next tick. */
    due_at: time('due_at'),
    /** Its place in the queue: `due_at`, plus a minute per environment of the account that was already due then. */
    queue_at: time('queue_at'),
    /** Before this it isn't claimed, although it is due; NULL if nothing stands in the way. */
    retry_at: time('retry_at'),
    /** The worker that claimed it; NULL if none has. */
    worker: text('worker'),
    /** When the current sync began; NULL if there is none. */
    started_at: time('started_at'),
    /** When the last finished sync began. */
    last_started_at: time('last_started_at'),
    /** When it ended. */
    ended_at: time('ended_at'),
    /** When the last successful sync began: the mirror is at least that new. */
    synced_at: time('synced_at'),
    /** How the last sync ended, as in `sync_runs`. */
    status: text('status'),
    /** The error of the last sync; NULL if there was none. */
    error: text('error'),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.env_id] }),
    // With `due_at`, a look that finds nothing due reads the index alone.
    index('account_environments_queue').on(t.queue_at, t.due_at),
    index('account_environments_claimed').on(t.account).where(sql`worker is not null`),
  ],
);

/** The known workers. One without a heartbeat for a while is presumed dead. */
export const workers = accountsSchema.table('workers', {
  worker: text('worker').primaryKey(),
  host: text('host').notNull(),
  pid: count('pid').notNull(),
  started_at: time('started_at').notNull().default(sql`now()`),
  seen_at: time('seen_at').notNull().default(sql`now()`),
  concurrency: count('concurrency').notNull(),
});
