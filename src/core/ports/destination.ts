import type { Checkpoint, HistoryGap, LookupRead, Round } from '../checkpoint.ts';
import type { ExistingRow } from '../decide/difference.ts';
import type { RowChange } from '../decide/newest-wins.ts';
import type { PruningRule } from '../decide/retention.ts';
import type { DecodedRow, RejectedRow } from '../decode/decode.ts';
import type { Row, Stream, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

/** Where the sync of a stream continues. */
export interface ResumePoint {
  readonly checkpoint: Checkpoint;
  /** The streams that it makes marks for. */
  readonly markableStreams: ReadonlySet<StreamName>;
}

/** What the next round depends on in the mirror. */
export interface RoundFacts {
  /** Whether the stream has live rows. */
  readonly hasRows: boolean;
  /**
   * How many marks the stream has: for rows synced at or after the bound (`inside`), and for older rows (`outside`).
   * `isDue` is false if earlier runs left all of them to wait until their rows are older than the overlap (R18).
   */
  readonly marks: { readonly inside: number; readonly outside: number; readonly isDue: boolean };
  /** Whether there are rejected rows that can be looked up by id (R20). */
  readonly hasRejected: boolean;
  /** Whether removals are held back (R14). */
  readonly hasHeld: boolean;
  /** The number of the latest mark (R18). */
  readonly lastMark: number;
  /** Whether the first scan of the stream that it depends on has ended (R18). */
  readonly isParentScanned: boolean;
  /** For a window stream: how many histories there are, and T of the last reading of the latest executions (R13). */
  readonly histories: { readonly count: number; readonly latestReadAt: Instant | null };
}

/** The bounds by which marks are counted. */
export interface FactsQuery {
  /** Where the upserts feed starts; null if it cannot be read. */
  readonly since: Instant | null;
  /** Rows last synced up to this instant are older than the overlap; null without a server time (R18). */
  readonly settledBefore: Instant | null;
}

/** The next ids that a stream has to look up, in ascending order. */
export interface Backlog {
  readonly ids: readonly string[];
  /**
   * How many ids there are in all, and how many rows a scan would read, to choose the way with fewer requests. Only set
   * with the first ids of `owned` and `marked` (R13, R18, R22), else null.
   */
  readonly weighed: { readonly ids: number; readonly rows: number } | null;
}

/** Selects the next ids of a round: those after the last one looked up, from marks that the round has to clear. */
export interface BacklogQuery
  extends Pick<LookupRead, 'after' | 'before'>,
    Pick<Round, 'lastMark' | 'run' | 'mode'>,
    Pick<FactsQuery, 'settledBefore'> {
  readonly about: Exclude<LookupRead['about'], 'tests' | 'suspect'>;
}

/** Selects the tests whose histories are due in a round. */
export interface DueTestsQuery {
  readonly limit: number;
  /** The run that began the round. What failed or was rejected since then is due again in the next round (R20, R22). */
  readonly run: number;
  /** A history last read outside this period is due by age; null if none is (R13). */
  readonly fresh: { readonly from: Instant; readonly until: Instant } | null;
}

export interface DueTest {
  readonly id: string;
  /** T of the run that last read its history; null if it was never read. */
  readonly readAt: Instant | null;
  /** The start of its earliest known execution. */
  readonly knownFrom: Instant | null;
  /** The mirror's own current time. */
  readonly mirroredAt: Instant;
  /** The most rows that a page of its history may have, because a larger page failed; null for no limit (R24). */
  readonly pageLimit: number | null;
  /** 1 if rows of its history are rejected; the whole history is then read (R20). */
  readonly hasRejected: number;
  /** 1 if its history could not be read at the last try. */
  readonly hasFailed: number;
}

/** A test whose history could not be read, and is skipped in this run (R22). */
export interface UnreadHistory {
  readonly testId: string;
  /** The most rows per page when the history is requested again; null to keep the current limit (R24). */
  readonly pageLimit: number | null;
}

/** What the end of a round does to the table. */
export interface RoundEnd {
  /** Deletes the feed stream's rows that the scan did not see, as of `at`; null means the mirror's own time (R1). */
  readonly sweep: { readonly at: Instant | null } | null;
  /** Replaces the whole table, or the edges of the marked columns, with the staged rows (R16, R18). */
  readonly replace: 'all' | 'marked' | null;
  /** Rows after this key stay, because a confirmed one still exists or may be invisible; null for none (R12, R18). */
  readonly through: string | null;
  /** Marks after this id stay unconfirmed, unless a read returned the row; null if all were looked up (R18). */
  readonly marksThrough: string | null;
  /** Marks of rows last synced after this stay for one more read; null without a server time (R18). */
  readonly settledBefore: Instant | null;
  /** Rows returned by id, from this read on, count as seen by the next scan; null if no scan has to follow (R12). */
  readonly rememberFrom: number | null;
  /** Marks up to this number are cleared, except those that the round left. */
  readonly lastMark: number;
  /** The run that began the round. */
  readonly run: number;
  /** Whether held-back removals are applied (R14). */
  readonly isReleased: boolean;
  /** Whether the whole stream was read: rows rejected before and not since are then gone (R20). */
  readonly isWhole: boolean;
}

/**
 * How many rows the end of a round would remove, of how many. Rows whose parent was deleted by a tombstone count in
 * neither number. `live` is counted only up to twice `toRemove`, which is enough to know whether more than half would
 * go (R14).
 */
export interface RemovalCount {
  readonly live: number;
  readonly toRemove: number;
}

/** Marks of this stream that the round of `run` could not clear and that wait for a later run (R13, R18). */
export interface LeftMarks {
  readonly ids: readonly string[];
  /** Later marks stay as they are. */
  readonly lastMark: number;
  readonly run: number;
  /** Whether to make the marks that don't exist. */
  readonly makes: boolean;
}

/** What one transaction writes together with the checkpoint (R5). */
export type Commit = PageCommit | RoundEndCommit | DiscardCommit | MarkHeldCommit;

/** What a page changes, or what changes without a page: new marks, or a history that could not be read. */
export interface PageCommit {
  readonly kind: 'page';
  readonly checkpoint: Checkpoint;
  /** Rows of the stream's own table. */
  readonly changes?: readonly RowChange[];
  /** Rows to stage, under the number of their read (R16). */
  readonly staged?: { readonly rows: readonly DecodedRow[]; readonly readNumber: number };
  /** Rows that a sync never deletes (R17). */
  readonly archived?: readonly DecodedRow[];
  readonly seen?: SeenKeys;
  /** Every key that the page returned: it is no longer held back (R14), nor rejected unless `keepsRejected` (R20). */
  readonly returnedKeys?: readonly (readonly string[])[];
  /** Whether the returned keys stay rejected (R20). */
  readonly keepsRejected?: boolean;
  readonly rejected?: readonly RejectedRow[];
  /**
   * Ids that were looked up and not returned. Their rows rejected before the run `since` are gone, unless the mirror
   * has an earlier live version: a tombstone or a scan decides on that one (R20).
   */
  readonly notShown?: { readonly ids: readonly string[]; readonly since: number };
  /** New marks: the stream that has to read, and the id (R13, R18, R22). */
  readonly marks?: readonly { readonly stream: StreamName; readonly id: string }[];
  /** Marks of this stream to clear if made no later than `lastMark`; null clears them regardless. */
  readonly clearedMarks?: { readonly ids: readonly string[]; readonly lastMark: number | null };
  readonly leftMarks?: LeftMarks;
  /** Rows whose tombstones in the feed may be older than they are, to be looked up (R10). */
  readonly ties?: readonly (readonly string[])[];
  /**
   * Live rows whose field `by` has one of these ids become absent if the reads from `sinceRead` on did not see them
   * (R10, R13). If not `confirmed`, the rows of a live parent stay, and so does its mark.
   */
  readonly sweptRows?: {
    readonly by: string;
    readonly ids: readonly string[];
    readonly sinceRead: number;
    readonly at: Instant | null;
    readonly isConfirmed: boolean;
  };
  /** A test's history that was read to its end. */
  readonly historyRead?: {
    readonly testId: string;
    readonly readAt: Instant;
    readonly mirroredAt: Instant;
    readonly gaps: readonly HistoryGap[];
    /** The run in which the read began: rows of the history rejected before it, and not since, are gone (R20). */
    readonly since: number;
  };
  readonly unreadHistory?: UnreadHistory;
}

/** The end of a round: its removals are applied, or held back if there are too many (R14). */
export interface RoundEndCommit {
  readonly kind: 'round-end';
  readonly checkpoint: Checkpoint;
  /** `isHeld` decides whether removals are held back, in the transaction that counts them (R14). */
  readonly roundEnd: RoundEnd & { readonly isHeld: (count: RemovalCount) => boolean };
}

/** Discards what a read (its number), or the whole round, saw and staged (R7). */
interface DiscardCommit {
  readonly kind: 'discard';
  readonly checkpoint: Checkpoint;
  readonly forget: number | 'all';
  readonly unreadHistory?: UnreadHistory;
}

/** Marks the columns whose edges are held back: reading them again decides on the removal (R14, R18). */
interface MarkHeldCommit {
  readonly kind: 'mark-held';
  readonly checkpoint: Checkpoint;
}

export interface SeenKeys {
  readonly keys: readonly (readonly string[])[];
  readonly readNumber: number;
}

export interface RowCounts {
  readonly written: number;
  readonly deleted: number;
  readonly rejected: number;
}

export interface CommitResult {
  readonly counts: RowCounts;
  /** The checkpoint as stored now: a stream that was marked by this commit or in the meantime is not finished (R9). */
  readonly checkpoint: Checkpoint;
}

export interface OutstandingCounts {
  /** How many removals are held back (R14). */
  readonly heldRemovals: number;
  /** How many rows are rejected (R20). */
  readonly rejected: number;
}

/** One environment of a mirror, as the sync of a stream sees it. Every failure is a `SyncError`. */
export interface Destination {
  load(stream: Stream): Promise<ResumePoint>;
  facts(stream: Stream, query: FactsQuery): Promise<RoundFacts>;
  /** The mirror's rows under these keys, by joined key (see `joinKey`). */
  existing(stream: Stream, keys: readonly (readonly string[])[]): Promise<Map<string, Row>>;
  /** The same, with their child rows. */
  existingWithChildren(stream: Stream, keys: readonly (readonly string[])[]): Promise<Map<string, ExistingRow>>;
  backlog(stream: Stream, query: BacklogQuery): Promise<Backlog>;
  /**
   * The next tests whose histories are to be read: those never read first, then the least recently read, then those
   * that failed last time.
   */
  dueTests(query: DueTestsQuery): Promise<readonly DueTest[]>;
  /** Writes a commit in one transaction (R5). Removals make marks only for `markableStreams`. */
  commit(stream: Stream, commit: Commit, markableStreams: ReadonlySet<StreamName>): Promise<CommitResult>;
  outstanding(stream: Stream): Promise<OutstandingCounts>;
  /** Computes the means of the newest stale day. Returns how many scores it read; null if no day is stale. */
  renewDay(): Promise<number | null>;
  /** Prunes a slice of a history (R17). Returns how many rows it removed; null if nothing is left to prune. */
  pruneHistory(rule: PruningRule): Promise<number | null>;
}
