import type { CheckpointOf } from '../checkpoint.ts';
import type { ExistingRow } from '../decide/difference.ts';
import type { Stream, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

export type RowKey = readonly string[];
export type RowKeys = readonly RowKey[];

/** Limits a read to the tables of a database or of one of its schemas; empty for all tables. */
export type TableFilter = Readonly<Partial<Record<'db_name' | 'schema_name', string>>>;

/** The live tables with the same value in a field. */
export interface TableGroup {
  readonly value: string;
  readonly rows: number;
}

/** What the next sync will do with a row; a deleted row counts as changed too. */
type PendingChange = 'changed' | 'deleted' | 'marked' | 'asked';

/** One environment of a mirror, as `verify` reads it without writing. Every failure is a `SyncError`. */
export interface MirrorReader {
  checkpoints(): Promise<CheckpointOf>;
  /** The mirror's rows under these keys with their child rows, by joined key (see `joinKey`). */
  existing(stream: Stream, keys: RowKeys): Promise<Map<string, ExistingRow>>;
  /** Records that the source returned these keys. */
  recordSeen(stream: Stream, keys: RowKeys): Promise<void>;
  /** Discards the recorded keys. */
  forget(stream: Stream): Promise<void>;
  /** The keys of live rows that the source did not return, in ascending order, starting after `after`. */
  unseenKeys(
    stream: Stream,
    from: { readonly after: RowKey | null; readonly limit: number },
    within?: TableFilter,
  ): Promise<RowKeys>;
  /** Records what the next sync will change, delete, mark or look up in a stream. */
  recordPending(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<void>;
  /** Records when these rows changed, according to the feed. */
  recordFeedTime(stream: StreamName, rows: readonly { readonly id: string; readonly at: Instant }[]): Promise<void>;
  /** The recorded times of these ids. */
  feedTimes(stream: StreamName, ids: readonly string[]): Promise<ReadonlyMap<string, Instant>>;
  /** Which of these ids were recorded for this change. */
  pendingIds(what: PendingChange, stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these ids are marked for the stream, or will be marked by the next sync (R13, R18, R22). */
  marked(stream: StreamName, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Which of these keys have a held-back removal (R14), as joined keys. */
  heldRemovals(stream: StreamName, keys: RowKeys): Promise<ReadonlySet<string>>;
  /** How many live rows there are. */
  count(stream: Stream, within?: TableFilter): Promise<number>;
  /** Groups the live tables by a field's value; tables without a value are in no group. */
  groups(stream: Stream, field: keyof TableFilter, within: TableFilter): Promise<TableGroup[]>;
}
