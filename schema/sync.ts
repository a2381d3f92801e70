import { sql } from 'drizzle-orm';
import { index, primaryKey } from 'drizzle-orm/sqlite-core';
import { flag, integer, json, text, time } from './column-types.ts';
import { envId } from './common-columns.ts';
import { table } from './table.ts';

/** The mirror belongs to one account (R26). What it says of the quota is noted when a run ends (R23). */
export const mirror = table('mirror', 'One row: what this mirror is.', {
  id: integer('always 1').primaryKey(),
  base_url: text('the service that the mirror belongs to').notNull(),
  /** 32 random bytes in lower-case hex. It is made with the mirror, so that a cursor stays valid after a restart. */
  cursor_key: text('the key that seals the cursors of `obsync serve`'),
  quota_limit: integer("requests per window of the account's quota; NULL if never stated"),
  quota_window_seconds: integer('the length of the longest window seen, in seconds'),
  quota_remaining: integer('requests left in the window when the last run ended; NULL if never stated'),
  quota_reset_seconds: integer('seconds from `quota_noted_at` until that window ended'),
  quota_noted_at: time("when that was noted, by this machine's clock"),
});

/** A commit writes to the row of its own environment alone. */
export const mirrorEnvironments = table('mirror_environments', 'A row per environment: its clock and its counters.', {
  env_id: envId().primaryKey(),
  /** Every transaction that changes rows moves it and stamps the rows with it. No two of them share a value (R21). */
  mirrored_at: time(
    "the mirror's own clock in this environment: it moves with every commit there and at the end of every run, and never runs backwards",
  ).notNull(),
  /** R18. */
  last_mark: integer('number of the last mark made in this environment').notNull().default(0),
  /** A replica finds deleted rows by comparing keys, and skips that if none were deleted. */
  rows_removed_at: time(
    'that clock at the last commit that may have deleted edges, latest executions or health scores, which leave no tombstone',
  ),
  /** R13. */
  returned_count: integer('how often the environment was listed again after it had been missing').notNull().default(0),
});

const stream = () => text('the stream').notNull();
const startedAt = () => time("when it started, by this machine's clock").notNull();
const endedAt = () => time("when it ended, by this machine's clock");
const requests = () => integer('requests sent').notNull();
const rowsWritten = () => integer('rows inserted or changed').notNull();
const rowsDeleted = () => integer('rows deleted').notNull();
const rowsRejected = () => integer('rows rejected').notNull();
const whatWentWrong = () => text('what went wrong, in words');

export const syncRuns = table(
  'sync_runs',
  'A row per run. Runs are kept for 90 days (`--keep-runs`).',
  {
    id: integer('the number of the run').primaryKey({ autoIncrement: true }),
    /** R6. */
    cycle_id: integer(
      'the run that began this cycle; differs from `id` only if an earlier run was stopped by `--max-requests` or by the quota',
    ).notNull(),
    command: text('`sync`, or `verify` for a repair', { enum: ['sync', 'verify'] })
      .notNull()
      .default('sync'),
    status: text(
      '`running`, `done`, `problems`, `refused` (the token), `stopped` (by `--max-requests`) or `interrupted` (by a signal). ' +
        'A run whose process was killed, or whose end could not be written (a full disk), stays `running`',
      { enum: ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted'] },
    ).notNull(),
    /** The T of R1. */
    server_time: time(
      "the run's time: the earliest that the `Date` (plus `Age`) of its successful answers gives for its start",
    ),
    started_at: startedAt(),
    ended_at: endedAt(),
    requests: requests().default(0),
    rows_written: rowsWritten().default(0),
    rows_deleted: rowsDeleted().default(0),
    rows_rejected: rowsRejected().default(0),
    error: whatWentWrong(),
    full: flag('1 if it, and every earlier run of its cycle, had `--full`').notNull().default(0),
    /** R13. */
    full_every: text('its `--full-every`: `auto` or a number of days; NULL for a repair'),
    /** R6. NULL once a later run has ended the cycle. */
    left_over: text(
      'what was left when the requests or the quota were spent: `unread` streams, or only streams that had `failed`; else NULL',
      { enum: ['unread', 'failed'] },
    ),
    nonce: text('random: it distinguishes a run from one with the same id in a mirror that was restored from a backup')
      .notNull()
      .default(''),
  },
  (t) => [
    // Monitoring of a server queries these often, and there may be very many runs.
    index('sync_runs_done').on(t.ended_at).where(sql`status = 'done' and command = 'sync'`),
    index('sync_runs_timed').on(t.id).where(sql`server_time is not null`),
  ],
);

export const syncStreamRuns = table(
  'sync_stream_runs',
  'A row per run, environment and stream, if the run did anything to the stream or if the stream ended otherwise than the last time. ' +
    'Rows are kept for 90 days; the last row of each stream stays.',
  {
    run_id: integer('the run, `sync_runs.id`').notNull(),
    env_id: envId(),
    stream: stream(),
    mode: text('how the stream was read last: `scan`, `feed`, `snapshot`, `marked`, `window` or `none`').notNull(),
    reason: text('why it was read that way, such as `first` or `increment`').notNull(),
    status: text(
      '`done`, `failed`, `denied` (403), `unavailable` (not live at the source), `held` (a removal is held back), ' +
        '`waiting` (for the first scan of another stream) or `stopped`',
      { enum: ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped'] },
    ).notNull(),
    requests: requests(),
    pages: integer('pages committed').notNull(),
    rows_written: rowsWritten(),
    rows_deleted: rowsDeleted(),
    rows_rejected: rowsRejected(),
    /** R2. */
    rows_late: integer(
      'changed rows that a scan found and the feeds had missed; more than 0 means that `--overlap` is too small',
    ).notNull(),
    started_at: startedAt(),
    ended_at: endedAt().notNull(),
    error: whatWentWrong(),
  },
  (t) => [
    primaryKey({ columns: [t.run_id, t.env_id, t.stream] }),
    index('sync_stream_runs_by_stream').on(t.env_id, t.stream, t.run_id),
  ],
);

export const pageLimit = () =>
  integer('rows per page after a larger page failed; NULL if only `--page-size` limits it');

/** Written together with the rows that it counts as read (R5). */
export const syncCheckpoints = table(
  'sync_checkpoints',
  'A row per environment and stream: how far it has been read.',
  {
    env_id: envId(),
    stream: stream(),
    /** The T of the run that committed the first page of the last finished round (R2). */
    watermark: time('changes up to this server time are in the mirror'),
    /** R2, `late`. */
    scanned_at: time('server time at the first page of the last full scan'),
    /** R13. */
    scan_ended_at: time('server time of the run in which the last full scan ended'),
    /** `--full` makes no second scan in the same cycle (R6). */
    scan_ended_cycle: integer('the cycle in which the last full scan ended'),
    /** R13, `--full-every auto`. */
    scan_pages: integer('how many pages that scan took; 0 before it').notNull().default(0),
    /** R1, R3, R12, R13. */
    scan_due: text(
      'why the next round has to be a full scan: `permission`, `returned`, `refuted`, `clamp` or `clock`; NULL if it need not be',
    ),
    /** R15. */
    unavailable: flag('1 while the service says that the stream is not live').notNull(),
    finished_cycle: integer('the last cycle in which the stream was completed'),
    /** See `Round` (R6). */
    round: json('the unfinished round as JSON, with its cursor and query; NULL if there is none'),
    /** R24. */
    page_limit: pageLimit(),
    page_limit_at: time('server time at which that limit was set'),
    /** R9. */
    waiting_scan: json('JSON: the last run in which a due scan failed, and where that scan stood; else NULL'),
    /** The environment's writer writes this row, but any run may find that the environment is back (R13). */
    returned_count: integer(
      'the count in `mirror_environments` that is taken into account; while they differ, a full scan is due (`returned`)',
    )
      .notNull()
      .default(0),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream] })],
);

/** Of an environment's checkpoints: the time up to which all of it is mirrored. */
export const COMPLETE_AT = 'CASE WHEN count(watermark) = count(*) THEN min(watermark) END';

/** Some runs read no histories, and a stream that was never live has nothing to mirror (R15), as in `syncAges`. */
export const COUNTED_CHECKPOINTS = "stream <> 'test_executions' AND (watermark IS NOT NULL OR NOT unavailable)";

/** For a row, or for the parent of rows (R13, R18, R22). */
export const marks = table(
  'marks',
  'A row per follow-up read that a stream still has to make.',
  {
    env_id: envId(),
    stream: stream(),
    id: text('the id to read again').notNull(),
    /** It comes from `mirror_environments.last_mark`: a read clears only marks that were made before it began. */
    number: integer('serial number of the mark').notNull(),
    /** A later run tries again (R13, R18). */
    left_by_run: integer('the run that could not clear it; NULL if none tried'),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.id] })],
);

/** The keys that a scan has seen (R12), sorted only for the sweep: an index on them would cost more than the rows. */
export const seenPages = table(
  'seen_pages',
  'Keys that the reads of an unfinished round have shown.',
  {
    id: integer('serial number').primaryKey(),
    env_id: envId(),
    stream: stream(),
    read_number: integer(
      'number of the read in its round; 0 for rows that the last scan saw only by id, which count as seen until the next one',
    ).notNull(),
    keys: text('JSON array of the keys that one page showed').notNull(),
  },
  (t) => [index('seen_pages_by_stream').on(t.env_id, t.stream)],
);

/** R14. */
export const heldRemovals = table(
  'held_removals',
  'Live rows whose removal is held back (see `--allow-shrink`).',
  {
    env_id: envId(),
    stream: stream(),
    key_1: text('first part of the key of the row').notNull(),
    key_2: text('second part of the key; empty if it has one part').notNull(),
    /** Server time of the read that did not show the row; without one, and for snapshots and lineage, the mirror's. */
    absent_at: time('the time that its `deleted_at` will be').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.key_1, t.key_2] })],
);

/** R20. */
export const rejectedRows = table(
  'rejected_rows',
  'A row per object of the source that no table can take. Every run asks for it again until it is accepted or gone.',
  {
    run_id: integer('the last run that met it').notNull(),
    env_id: envId(),
    stream: stream(),
    row_key: text('the key of the row, or the payload if it has none').notNull(),
    reason: text('what is wrong with it').notNull(),
    payload: text('the row as JSON').notNull(),
    seen_at: time('when it was last met').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.row_key] })],
);

/** The rows alone do not give the number of pages, because the service leaves out rows that the token may not see. */
export const listLengths = table(
  'list_lengths',
  'How long each list was when it was last read in full; `obsync plan` counts by it.',
  {
    env_id: envId(),
    stream: stream(),
    /** Without the limit: `{}` or `{"disabled":"true"}`. */
    variant: text("the list's own query as JSON").notNull(),
    page_size: integer('rows per page when it was read').notNull(),
    pages: integer('pages it took').notNull(),
    rows: integer('rows it had').notNull(),
  },
  (t) => [primaryKey({ columns: [t.env_id, t.stream, t.variant] })],
);
