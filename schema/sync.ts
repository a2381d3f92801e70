import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { envId, flag, json, time } from './common-columns.ts';

/** One row, which says what this file is. */
export const mirror = sqliteTable('mirror', {
  id: integer('id').primaryKey(),
  /** The base URL of the one account that the mirror belongs to (R26). */
  base_url: text('base_url').notNull(),
  /**
   * The key that seals the cursors of `serve`: 32 random bytes in lower-case hex. It is made with the mirror, so that a
   * cursor stays valid after a restart.
   */
  cursor_key: text('cursor_key'),
  /** The requests of one window of the account's quota, as the service last stated them; NULL while it never has. */
  quota_limit: integer('quota_limit'),
  /** The longest window that was seen, in seconds. */
  quota_window_seconds: integer('quota_window_seconds'),
  /**
   * The requests left in the current window when the last run ended (R23); NULL while the service never stated them.
   */
  quota_remaining: integer('quota_remaining'),
  /** The seconds from `quota_noted_at` to the end of that window. */
  quota_reset_seconds: integer('quota_reset_seconds'),
  /** When the quota was noted, by the machine's clock. */
  quota_noted_at: time('quota_noted_at'),
});

/** The clock and the counter of each environment. A commit writes to the row of its own environment alone. */
export const mirrorEnvironments = sqliteTable('mirror_environments', {
  env_id: text('env_id').primaryKey(),
  /**
   * The mirror's own time in this environment, by which readers follow its changes. Every transaction that changes rows
   * moves it and stamps the rows with it; the end of every run moves it as well. No two of them share a value, and it
   * never runs backwards (R21).
   */
  mirrored_at: time('mirrored_at').notNull(),
  /** The number of the last mark that was made (R18). */
  last_mark: integer('last_mark').notNull().default(0),
  /** How often the environment was listed again after a time in which it was not (R13). It only grows. */
  returned_count: integer('returned_count').notNull().default(0),
});

/** One row per run. Its times are the machine's; only `server_time` is the service's, the T of R1. */
export const syncRuns = sqliteTable(
  'sync_runs',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    /**
     * The run that began this cycle. It is not this run when this one carries on after spent requests or quota (R6).
     */
    cycle_id: integer('cycle_id').notNull(),
    /** `verify` is a repair: it writes the rows that differed, and brings no stream up to date. */
    command: text('command', { enum: ['sync', 'verify'] })
      .notNull()
      .default('sync'),
    /** `running` while the run lasts, and for ever if its process was killed. */
    status: text('status', {
      enum: ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted'],
    }).notNull(),
    server_time: time('server_time'),
    started_at: time('started_at').notNull(),
    ended_at: time('ended_at'),
    requests: integer('requests').notNull().default(0),
    rows_written: integer('rows_written').notNull().default(0),
    rows_deleted: integer('rows_deleted').notNull().default(0),
    rows_rejected: integer('rows_rejected').notNull().default(0),
    error: text('error'),
    /** 1 if this run and every earlier run of its cycle had `--full`. */
    full: flag('full').notNull().default(0),
    /**
     * What the run left undone when its requests or its quota were spent (R6): `unread` streams, for which the next run
     * carries the cycle on, or only streams that had `failed`. NULL if the run ended otherwise, or once a later run has
     * ended the cycle.
     */
    left_over: text('left_over', { enum: ['unread', 'failed'] }),
    /** Random: a run of a mirror that was restored from a backup may have the same id, but never the same nonce. */
    nonce: text('nonce').notNull().default(''),
  },
  (t) => [
    // Monitoring of a server asks for these often, and there may be very many runs.
    index('sync_runs_done').on(t.ended_at).where(sql`status = 'done' and command = 'sync'`),
    index('sync_runs_timed').on(t.id).where(sql`server_time is not null`),
  ],
);

/**
 * What a run did to a stream of an environment, why, and how it ended. There is a row only if the run did something, or
 * if the stream ended differently from last time.
 */
export const syncStreamRuns = sqliteTable(
  'sync_stream_runs',
  {
    run_id: integer('run_id').notNull(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /** How the last round of the run was read: `scan`, `feed`, `snapshot`, `marked`, `window` or `none`. */
    mode: text('mode').notNull(),
    /** The reason for that mode: `first`, `clamp`, `clock`, `full`, `increment`, … */
    reason: text('reason').notNull(),
    status: text('status', {
      enum: ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped'],
    }).notNull(),
    requests: integer('requests').notNull(),
    pages: integer('pages').notNull(),
    rows_written: integer('rows_written').notNull(),
    rows_deleted: integer('rows_deleted').notNull(),
    rows_rejected: integer('rows_rejected').notNull(),
    /**
     * The changed rows that a scan found and the feeds should have shown. More than 0 means that the overlap is too
     * small (R2).
     */
    rows_late: integer('rows_late').notNull(),
    started_at: time('started_at').notNull(),
    ended_at: time('ended_at').notNull(),
    error: text('error'),
  },
  (t) => [
    primaryKey({ columns: [t.run_id, t.env_id, t.stream] }),
    index('sync_stream_runs_by_stream').on(t.env_id, t.stream, t.run_id),
  ],
);

/** The progress of one stream of one environment, written together with the rows that it counts as read (R5). */
export const syncCheckpoints = sqliteTable(
  'sync_checkpoints',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    /** Server time (T) of the run that committed the first page of the last finished round (R2). */
    watermark: time('watermark'),
    /** Server time of the run that committed the first page of the last finished scan (R2, `late`). */
    scanned_at: time('scanned_at'),
    /** Server time of the run in which the last scan ended (R13). */
    scan_ended_at: time('scan_ended_at'),
    /** The cycle in which the last scan ended: `--full` makes no second scan in the same cycle (R6). */
    scan_ended_cycle: integer('scan_ended_cycle'),
    /**
     * Why the next round must be a scan: `permission`, `returned`, `refuted`, `clamp` or `clock` (R1, R3, R12, R13).
     */
    scan_due: text('scan_due'),
    /** 1 while the service answers that the stream is not live (R15). */
    unavailable: flag('unavailable').notNull(),
    /** The last cycle in which the stream was read to its end. */
    finished_cycle: integer('finished_cycle'),
    /** The unfinished round as JSON (see `Round`); NULL when there is none (R6). */
    round: json('round'),
    /**
     * The most rows to ask for in a page of this stream, because a larger page failed every try; NULL for no such limit
     * (R24).
     */
    page_limit: integer('page_limit'),
    /** Server time of the run that set that limit. */
    page_limit_at: time('page_limit_at'),
    /**
     * As JSON, the last run in which a due scan failed, and its position if it waits while the feeds go on; NULL if
     * none failed (R9).
     */
    waiting_scan: json('waiting_scan'),
    /**
     * The `returned_count` of the environment that the stream has taken into account. While it differs, a scan is due
     * (R13): this row is written by the environment's own writer alone, but any run may find that the environment is
     * back.
     */
    returned_count: integer('returned_count').notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream] })],
);

/** A row, or the parent of rows, for which `stream` still needs a follow-up read (R13, R18, R22). */
export const marks = sqliteTable(
  'marks',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    id: text('id').notNull(),
    /**
     * A number from the counter `mirror_environments.last_mark`: a read clears only marks that were made before it
     * began.
     */
    number: integer('number').notNull(),
    /** The run whose round could not clear the mark; a later run tries again (R13, R18). NULL while there is none. */
    left_by_run: integer('left_by_run'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.id] })],
);

/**
 * The keys that the reads of an unfinished round have seen. After the scan, rows whose keys were not seen are swept
 * (R12). The keys are stored page by page and sorted only when the missing rows are looked for: an index on them would
 * cost more than the rows.
 */
export const seenPages = sqliteTable(
  'seen_pages',
  {
    id: integer('id').primaryKey(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /**
     * The number of the read in its round; 0 for rows that the previous scan saw only by id, which the next scan counts
     * as seen.
     */
    read_number: integer('read_number').notNull(),
    /** A JSON array of keys, each an array of its parts. */
    keys: text('keys').notNull(),
  },
  (t) => [index('seen_pages_by_stream').on(t.env_id, t.stream)],
);

/** Live rows whose removal is held back (R14). */
export const heldRemovals = sqliteTable(
  'held_removals',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    key_1: text('key_1').notNull(),
    key_2: text('key_2').notNull(),
    /**
     * Server time of the read that did not show the row; it becomes `deleted_at` once the deletion is applied. It is
     * the mirror's own time for snapshots and lineage, whose rows are removed without a trace, and when there is no
     * server time.
     */
    absent_at: time('absent_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.key_1, t.key_2] })],
);

/**
 * Rows that the mirror could not accept (R20): one entry each, however often a row came, until it is accepted or gone.
 */
export const rejectedRows = sqliteTable(
  'rejected_rows',
  {
    /** The last run that received the row. */
    run_id: integer('run_id').notNull(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /** The key of the row, or its payload when it has none. */
    row_key: text('row_key').notNull(),
    reason: text('reason').notNull(),
    payload: text('payload').notNull(),
    seen_at: time('seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.row_key] })],
);

/** The tests whose histories were read, and when (`--history`, R22). */
export const testReadings = sqliteTable(
  'test_readings',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    /** Server time of the run in which the last finished read of the history began. */
    read_at: time('read_at').notNull(),
    /** The mirror's own time when that read began: latest executions that were mirrored later are news. */
    mirrored_at: time('mirrored_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

/** Tests whose history could not be read. They are read again after all others (R22). */
export const historyFailures = sqliteTable(
  'history_failures',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    /** The run in which the read failed; NULL once a later read succeeded. */
    run_id: integer('run_id'),
    /**
     * The most rows to ask for in a page of this history, because a larger page failed every try; NULL for no such
     * limit (R24).
     */
    page_limit: integer('page_limit'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

/** Parts of a test's history that were never read and that the service no longer shows. */
export const testExecutionGaps = sqliteTable(
  'test_execution_gaps',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    gap_from: time('gap_from').notNull(),
    gap_to: time('gap_to').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id, t.gap_from] })],
);

/**
 * How many pages a list took and how many rows they showed, when it was last read completely in one run. The rows alone
 * do not give the number of pages, because the service leaves out rows that the token may not see.
 */
export const listLengths = sqliteTable(
  'list_lengths',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    /** The query of the list as JSON, without the limit: `{}` or `{"disabled":"true"}`. */
    variant: text('variant').notNull(),
    page_size: integer('page_size').notNull(),
    pages: integer('pages').notNull(),
    rows: integer('rows').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.variant] })],
);
