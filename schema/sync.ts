import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { envId } from './columns.ts';

/** One row: what this file is. */
export const mirror = sqliteTable('mirror', {
  id: integer('id').primaryKey(),
  /** The one base URL the mirror belongs to (R26). */
  base_url: text('base_url').notNull(),
  /**
   * The mirror's own time, the clock of all who follow it: every transaction that changes rows moves it and stamps them with
   * it, and so does the end of every run; no two share a value, and it never runs backwards (R21).
   */
  mirrored_at: text('mirrored_at').notNull(),
  /** The number of the last mark made (R18). */
  last_mark: integer('last_mark').notNull(),
  /**
   * The key that seals the cursors of `serve`: 32 random bytes as lower-case hex, made with the mirror, so that a cursor
   * outlives a restart. NULL only in a file made by a version that had none, until it is next opened for writing.
   */
  cursor_key: text('cursor_key'),
  /** Requests of one window of the account's quota, as the last run was told that was; NULL while none has been. */
  quota_limit: integer('quota_limit'),
  /** The longest such a window was seen to be, in seconds. */
  quota_window_seconds: integer('quota_window_seconds'),
  /** Requests left in the window under way when the last run ended (R23); NULL while no run was told. */
  quota_remaining: integer('quota_remaining'),
  /** Until that window ended, in seconds, counted from `quota_noted_at`. */
  quota_reset_seconds: integer('quota_reset_seconds'),
  /** When that was noted, by the machine's clock. */
  quota_noted_at: text('quota_noted_at'),
});

/** A row per run. Times are the machine's; `server_time` is the run's T (R1). */
export const syncRuns = sqliteTable(
  'sync_runs',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    /** The run that began this cycle; another id than `id` only after a run whose requests or quota were spent (R6). */
    pass_id: integer('pass_id').notNull(),
    /** `verify` is a repair: it writes what was found, and brings nothing up to date. */
    command: text('command', { enum: ['sync', 'verify'] })
      .notNull()
      .default('sync'),
    /** `running` while it runs, and for ever if its process was killed. */
    status: text('status', {
      enum: ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted'],
    }).notNull(),
    server_time: text('server_time'),
    started_at: text('started_at').notNull(),
    ended_at: text('ended_at'),
    requests: integer('requests').notNull().default(0),
    rows_written: integer('rows_written').notNull().default(0),
    rows_deleted: integer('rows_deleted').notNull().default(0),
    rows_rejected: integer('rows_rejected').notNull().default(0),
    error: text('error'),
    /** 1 if it, and every run of its cycle before it, had `--full`. */
    full: integer('full').notNull().default(0),
    /**
     * What it left when its requests or its quota were spent: `unread` streams, for which the next run carries the cycle on, or
     * such alone as had `failed` (R6). NULL if it ended in another way, or once another run has brought the cycle to its end.
     */
    left_over: text('left_over', { enum: ['unread', 'failed'] }),
  },
  (t) => [
    // Whoever watches over a server asks these often, and there may be very many runs.
    index('sync_runs_done').on(t.ended_at).where(sql`status = 'done' and command = 'sync'`),
    index('sync_runs_timed').on(t.id).where(sql`server_time is not null`),
  ],
);

/** A row per stream of an environment that a run did anything to, or that ended otherwise than the last time: what was done, why, and how it ended. */
export const syncStreamRuns = sqliteTable(
  'sync_stream_runs',
  {
    run_id: integer('run_id').notNull(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /** `scan`, `feed`, `snapshot`, `marked`, `window` or `none`: how the last round of the run was read. */
    mode: text('mode').notNull(),
    /** Why that mode: `first`, `clamp`, `clock`, `full`, `increment`, … */
    reason: text('reason').notNull(),
    status: text('status', {
      enum: ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped'],
    }).notNull(),
    requests: integer('requests').notNull(),
    pages: integer('pages').notNull(),
    rows_written: integer('rows_written').notNull(),
    rows_deleted: integer('rows_deleted').notNull(),
    rows_rejected: integer('rows_rejected').notNull(),
    /** Changed rows a scan found that the feeds should have shown: more than none means the overlap is too small (R2). */
    rows_late: integer('rows_late').notNull(),
    started_at: text('started_at').notNull(),
    ended_at: text('ended_at').notNull(),
    error: text('error'),
  },
  (t) => [
    primaryKey({ columns: [t.run_id, t.env_id, t.stream] }),
    index('sync_stream_runs_by_stream').on(t.env_id, t.stream, t.run_id),
  ],
);

/** All progress of one stream of one environment; written with the rows it speaks of (R5). */
export const syncCheckpoints = sqliteTable(
  'sync_checkpoints',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    /** T of the run that committed the first page of the last finished round (R2). */
    watermark: text('watermark'),
    /** T of the run that committed the first page of the last finished scan (R2, `late`). */
    scanned_at: text('scanned_at'),
    /** T of the run in which the last scan ended (R13). */
    scan_ended_at: text('scan_ended_at'),
    /** The pass in which the last scan ended: `--full` asks for no second one (R6). */
    scan_ended_pass: integer('scan_ended_pass'),
    /** Why the next round has to be a scan: `permission`, `returned` or `refuted` (R12, R13). */
    scan_due: text('scan_due'),
    /** 1 while the service says that the stream is not live (R15). */
    unavailable: integer('unavailable').notNull(),
    /** The last pass in which the stream came to its end. */
    finished_pass: integer('finished_pass'),
    /** The unfinished round as JSON (see `Round`), NULL when there is none (R6). */
    round: text('round'),
    /** Rows that a page of this stream may have, since a larger one failed every try; NULL for as many as asked for (R24). */
    page_limit: integer('page_limit'),
    /** T of the run in which that limit was set. */
    page_limit_at: text('page_limit_at'),
    /** As JSON, the last run in which a due scan failed, and where that stood if it waits while the feeds go on; NULL when none did (R9). */
    set_aside: text('set_aside'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream] })],
);

/** A row, or a row's owner, that still owes `stream` a follow-up read (R13, R18, R22). */
export const marks = sqliteTable(
  'marks',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    id: text('id').notNull(),
    /** Drawn from `mirror.last_mark`: a read clears only marks made before it began. */
    number: integer('number').notNull(),
    /** The run whose round could not pay it; another run tries again (R13, R18). NULL while none has. */
    left_by_run: integer('left_by_run'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.id] })],
);

/**
 * Keys met by the reads of an unfinished round: what a finished scan did not see is swept (R12). They are noted page by page, and
 * put in order only when something asks which rows are missing: to keep them in order all the time costs more than the rows.
 */
export const seenPages = sqliteTable(
  'seen_pages',
  {
    id: integer('id').primaryKey(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /** Number of the read in its round; 0 for what the scan before was shown by id alone: the next one counts it as seen. */
    read_number: integer('read_number').notNull(),
    /** JSON: an array of keys, each an array of its parts. */
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
     * T of the read that did not show the row: its `deleted_at` once it is let go. The mirror's own time for snapshots and
     * lineage, whose rows leave without a trace, and without a server time.
     */
    absent_at: text('absent_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.key_1, t.key_2] })],
);

/** Rows the mirror could not take (R20); one row for each, however often it came, until it is accepted or gone. */
export const rejectedRows = sqliteTable(
  'rejected_rows',
  {
    /** The last run that met it. */
    run_id: integer('run_id').notNull(),
    env_id: envId(),
    stream: text('stream').notNull(),
    /** The row's key, or the payload itself where it has none. */
    row_key: text('row_key').notNull(),
    reason: text('reason').notNull(),
    payload: text('payload').notNull(),
    seen_at: text('seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.row_key] })],
);

/** Which tests' histories have been read, and when (`--history`, R22). */
export const testReadings = sqliteTable(
  'test_readings',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    /** T of the run in which the test's last finished reading began. */
    read_at: text('read_at').notNull(),
    /** The mirror's own time when that reading began: latest executions mirrored later are news. */
    mirrored_at: text('mirrored_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

/** Tests whose history could not be read when it was asked for; they are asked for again after all others (R22). */
export const historyFailures = sqliteTable(
  'history_failures',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    /** The run in which it failed; NULL once it was read after all. */
    run_id: integer('run_id'),
    /** Rows a page of this history may have at most, since a larger one failed every try; NULL for no such limit (R24). */
    page_limit: integer('page_limit'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id] })],
);

/** Stretches of a test's history that were never read and that the service no longer shows. */
export const testExecutionGaps = sqliteTable(
  'test_execution_gaps',
  {
    env_id: envId(),
    test_id: text('test_id').notNull(),
    gap_from: text('gap_from').notNull(),
    gap_to: text('gap_to').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.test_id, t.gap_from] })],
);

/**
 * How many pages a whole list took, and how many rows they showed, when it was last read from end to end in one run: where the
 * service trims rows that the token may not see, the rows alone would tell of fewer pages.
 */
export const listLengths = sqliteTable(
  'list_lengths',
  {
    env_id: envId(),
    stream: text('stream').notNull(),
    /** The list's own query as JSON, without the limit: `{}` or `{"disabled":"true"}`. */
    variant: text('variant').notNull(),
    page_size: integer('page_size').notNull(),
    pages: integer('pages').notNull(),
    rows: integer('rows').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.variant] })],
);
