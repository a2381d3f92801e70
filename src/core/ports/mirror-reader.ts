import type { Checkpoint } from '../checkpoint.ts';
import type { ExistingRow } from '../decide/difference.ts';
import type { Stream, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

export type RowKey = readonly string[];
export type RowKeys = readonly RowKey[];

/** Limits what is read to the tables of a database, or of one of its schemas; empty for all tables. */
export type TableFilter = Readonly<Partial<Record<'db_name' | 'schema_name', string>>>;

/** The live tables that have the same value in a field. */
export interface TableGroup {
  readonly value: string;
  readonly rows: number;
}

/** What the next sync will do with a row; a deleted row is changed as well. */
type PendingChange = 'changed' | 'deleted' | 'marked' | 'asked';

/**
 * One environment of a mirror, as `verify` reads it. It writes nothing into the mirror; its notes are kept outside of
 * it. Every failure is a `SyncError`.
 */
export interface MirrorReader {
  /** `NO_PROGRESS` before the stream's first page. */
  load(stream: StreamName): Promise<Checkpoint>;
  /** The rows that the mirror has under these keys, with those of their child tables, by joined key (see `joinKey`). */
  existing(stream: Stream, keys: RowKeys): Promise<Map<string, ExistingRow>>;
  /** Notes that the source showed these keys. */
  recordSeen(stream: Stream, keys: RowKeys): Promise<void>;
  /** Forgets which keys the source showed. */
  forget(stream: Stream): Promise<void>;
  /** The keys of live rows that the source did not show, in ascending order, from the one after `after` on. */
  unseenKeys(
    stream: Stream,
    from: { readonly after: RowKey | null; readonly limit: number },
    within?: TableFilter,
  ): Promise<RowKeys>;
  /** Notes what the next sync will change, delete, mark or ask for in a stream. */
  recordPending(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<void>;
  /** Notes when these rows were changed, according to the feed. */
  recordFeedTime(stream: StreamName, rows: readonly { readonly id: string; readonly at: Instant }[]): Promise<void>;
  /** The times that were noted for these ids. */
  feedTimes(stream: StreamName, ids: readonly string[]): Promise<ReadonlyMap<string, Instant>>;
  /** Which of these ids were noted for this change. */
  pendingIds(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these ids are marked for the stream, or will be marked by the next sync (R13, R18, R22). */
  marked(stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these keys have a removal that is held back (R14), as joined keys. */
  heldRemovals(stream: StreamName, keys: RowKeys): Promise<ReadonlySet<string>>;
  /** How many live rows there are. */
  count(stream: Stream, within?: TableFilter): Promise<number>;
  /** Groups the live tables by the value of a field; tables without a value are in no group. */
  groups(stream: Stream, field: keyof TableFilter, within: TableFilter): Promise<TableGroup[]>;
}
