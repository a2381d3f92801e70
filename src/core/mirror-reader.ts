import type { Checkpoint } from './checkpoint.ts';
import type { ExistingRow } from './difference.ts';
import type { Instant } from './instant.ts';
import type { Stream, StreamName } from './stream.ts';

export type RowKey = readonly string[];
export type RowKeys = readonly RowKey[];

/** Which tables are meant: those of a database, or of one of its schemas; all of them when empty. */
export type TableFilter = Readonly<Partial<Record<'db_name' | 'schema_name', string>>>;

/** Live tables that have one value in a field. */
export interface TableGroup {
  readonly value: string;
  readonly rows: number;
}

/** What a sync is going to do with a row; one that is deleted is changed as well. */
type PendingChange = 'changed' | 'deleted' | 'marked' | 'asked';

/** One environment's part of a mirror, as `verify` reads it: nothing of it is written. Every failure is a `SyncError`. */
export interface MirrorReader {
  /** `NO_PROGRESS` before the stream's first page. */
  load(stream: StreamName): Promise<Checkpoint>;
  /** The rows held under these keys, with their parts, by joined key (see `joinKey`). */
  existing(stream: Stream, rowKeys: RowKeys): Promise<Map<string, ExistingRow>>;
  /** Notes, beside the mirror, that the source showed these keys. */
  recordSeen(stream: Stream, rowKeys: RowKeys): Promise<void>;
  /** Forgets what was noted. */
  forget(stream: Stream): Promise<void>;
  /** Keys of live rows that the source did not show, as noted, in their order: those after a key. */
  unseenKeys(
    stream: Stream,
    from: { readonly after: RowKey | null; readonly limit: number },
    within?: TableFilter,
  ): Promise<RowKeys>;
  /** Notes, beside the mirror, what the next sync is going to change, to delete, or to mark for a stream. */
  recordPending(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<void>;
  /** Notes, beside the mirror, when the feed says that these rows were changed, for the read that goes on. */
  recordFeedTime(stream: StreamName, rows: readonly { readonly id: string; readonly at: Instant }[]): Promise<void>;
  /** What was noted so of these ids. */
  feedTimes(stream: StreamName, ids: readonly string[]): Promise<ReadonlyMap<string, Instant>>;
  /** Which of these ids were noted so. */
  pendingIds(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these ids are marked for the stream, or are going to be, as noted (R13, R18, R22). */
  marked(stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these keys have a removal held back (R14), joined. */
  heldRemovals(stream: StreamName, rowKeys: RowKeys): Promise<ReadonlySet<string>>;
  /** Live rows. */
  count(stream: Stream, within?: TableFilter): Promise<number>;
  /** Live tables by the values of a field; those without one are in no group. */
  groups(stream: Stream, field: keyof TableFilter, within: TableFilter): Promise<TableGroup[]>;
}
