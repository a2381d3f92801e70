import type { Checkpoint, LookupRead, Round } from '../checkpoint.ts';
import type { ExistingRow } from '../decide/difference.ts';
import type { RowChange } from '../decide/newest-wins.ts';
import type { DecodedRow, RejectedRow } from '../decode/decode.ts';
import type { Row, Stream, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

/** The facts about the mirror on which the next round depends. */
export interface RoundFacts {
  /** Whether the stream has live rows. */
  readonly hasRows: boolean;
  /**
   * How many marks the stream has: of rows that were synced at or after the bound (`inside`), and of older rows
   * (`outside`). None `isDue` if all were left by earlier runs and wait for their rows to be older than the overlap
   * (R18).
   */
  readonly marks: { readonly inside: number; readonly outside: number; readonly isDue: boolean };
  /** Whether there are rejected rows that can be asked for by id (R20). */
  readonly hasRejected: boolean;
  /** Whether removals are held back (R14). */
  readonly hasHeld: boolean;
  /** The number of the last mark that was made (R18). */
  readonly lastMark: number;
  /** The checkpoints of the environment, by stream. */
  readonly checkpoints: ReadonlyMap<StreamName, Checkpoint>;
}

/** The bounds by which marks are counted. */
export interface FactsQuery {
  /** From when on the upserts feed is read; null if it cannot be. */
  readonly since: Instant | null;
  /** Rows last synced until then are older than the overlap; null without a server time (R18). */
  readonly settledBefore: Instant | null;
}

/** The next ids that a stream has to ask for, in ascending order. */
export interface Backlog {
  readonly ids: readonly string[];
  /**
   * How many ids there are in all, and how many rows a scan would read: this tells which takes fewer requests. Only
   * with the first ids of `owned` and `marked` (R13, R18, R22), else null.
   */
  readonly weighed: { readonly ids: number; readonly rows: number } | null;
}

/** Which ids are next in a round: those after the last id asked for, of marks that the round has to clear. */
export interface BacklogQuery
  extends Pick<LookupRead, 'after' | 'before'>,
    Pick<Round, 'lastMark' | 'run' | 'mode'>,
    Pick<FactsQuery, 'settledBefore'> {
  readonly about: Exclude<LookupRead['about'], 'tests'>;
}

export interface DueTest {
  readonly id: string;
  /** T of the run that last read its history; null if it was never read. */
  readonly readAt: Instant | null;
  /** The start of its earliest known execution. */
  readonly knownFrom: Instant | null;
  /** The mirror's own current time. */
  readonly mirroredAt: Instant;
  /** How many rows a page of its history may have, because a larger page failed; null for no limit (R24). */
  readonly pageLimit: number | null;
  /** 1 if there are rejected rows of its history: then the whole history is read (R20). */
  readonly hasRejected: number;
}

/** A test's history could not be read, and is skipped in this run (R22). */
export interface UnreadHistory {
  readonly testId: string;
  /** How many rows a page may have when the history is asked for again; null to keep the present limit (R24). */
  readonly pageLimit: number | null;
}

/** What the end of a round does to the table. */
export interface RoundEnd {
  /** Rows of a feed stream that the scan did not see are deleted, as of `at`. If that is null, the mirror's own time is stored
   * instead; no decision depends on it (R1). */
  readonly sweep: { readonly at: Instant | null } | null;
  /** The staged rows replace the whole table, or the edges of the marked columns (R16, R18). */
  readonly replace: 'all' | 'marked' | null;
  /**
   * Rows after this key were not confirmed, and stay, because one that was confirmed still exists or may only be out of
   * sight. Null if all may be deleted (R12, R18).
   */
  readonly through: string | null;
  /**
   * Marks after this id were not confirmed, and stay, unless a read has shown the row; null if all were asked for
   * (R18).
   */
  readonly marksThrough: string | null;
  /** Marks of rows last synced after this stay for one more read; null without a server time (R18). */
  readonly settledBefore: Instant | null;
  /** The next scan counts as seen what came back by id, from this read on; null if no scan has to follow (R12). */
  readonly rememberFrom: number | null;
  /** Marks up to this number are cleared, except those that the round left. */
  readonly lastMark: number;
  /** The run that began the round. */
  readonly run: number;
  /** Whether removals that were held back are applied (R14). */
  readonly isReleased: boolean;
  /** Whether it read the whole stream: then rows that were rejected before and not since are gone (R20). */
  readonly isWhole: boolean;
}

/**
 * How many of how many rows the end of a round would remove. Rows whose parent was deleted by a tombstone count in
 * neither number. `live` is counted only up to twice `toRemove`, which is enough to know whether more than half would
 * go (R14).
 */
export interface RemovalCount {
  readonly live: number;
  readonly toRemove: number;
}

/** Decides, within the commit that counts them, whether removals are held back (R14). */
interface RemovalGuard {
  readonly isHeld: (count: RemovalCount) => boolean;
}

/** Marks of this stream that the round of `run` could not clear: they wait for a later run (R13, R18). */
export interface LeftMarks {
  readonly ids: readonly string[];
  /** Marks made after this one stay as they are. */
  readonly lastMark: number;
  readonly run: number;
  /** Whether a mark is made where there is none. */
  readonly makes: boolean;
}

/** What is written in one transaction together with the checkpoint (R5). */
export type Commit = PageCommit | RoundEndCommit | DiscardCommit | MarkHeldCommit;

/**
 * What a page changes; also a change without a page, such as marks that are made or a history that could not be read.
 */
export interface PageCommit {
  readonly kind: 'page';
  readonly checkpoint: Checkpoint;
  /** Rows of the stream's own table. */
  readonly changes?: readonly RowChange[];
  /** Rows that wait beside the table, under the number of their read (R16). */
  readonly staged?: { readonly rows: readonly DecodedRow[]; readonly readNumber: number };
  /** Rows that are kept for ever (R17). */
  readonly archived?: readonly DecodedRow[];
  readonly seen?: SeenKeys;
  /** Every key that the page showed: it is no longer rejected (R20), and no longer held back (R14). */
  readonly returnedKeys?: readonly (readonly string[])[];
  readonly rejected?: readonly RejectedRow[];
  /**
   * Ids that were asked for and not shown. What was rejected of them before the run `since` is gone, unless the mirror
   * holds an earlier version live: a tombstone or a scan decides on that one (R20).
   */
  readonly notShown?: { readonly ids: readonly string[]; readonly since: number };
  /** New marks: the stream that has to read, and the id (R13, R18, R22). */
  readonly marks?: readonly { readonly stream: StreamName; readonly id: string }[];
  /**
   * Marks of this stream that are cleared, if made no later than `lastMark`; null clears them whenever they were made.
   */
  readonly clearedMarks?: { readonly ids: readonly string[]; readonly lastMark: number | null };
  readonly leftMarks?: LeftMarks;
  /** Rows of a feed that carry the same instant as their tombstone: they are looked up (R10). */
  readonly ties?: readonly (readonly string[])[];
  /**
   * Live rows whose field `by` has one of these ids, and that the reads from `sinceRead` on did not see, are absent
   * (R10, R13). If they are not `confirmed`, the rows of a live parent stay, and so does its mark.
   */
  readonly sweptRows?: {
    readonly by: string;
    readonly ids: readonly string[];
    readonly sinceRead: number;
    readonly at: Instant | null;
    readonly isConfirmed: boolean;
  };
  /** A test's history was read to its end. */
  readonly historyRead?: {
    readonly testId: string;
    readonly readAt: Instant;
    readonly mirroredAt: Instant;
    readonly gap: { readonly from: Instant; readonly to: Instant } | null;
    /** The run in which the read began: what was rejected of the history before, and not since, is gone (R20). */
    readonly since: number;
  };
  readonly unreadHistory?: UnreadHistory;
}

/** A round has ended: its removals are applied, or held back if there are too many (R14). */
export interface RoundEndCommit {
  readonly kind: 'round-end';
  readonly checkpoint: Checkpoint;
  readonly roundEnd: RoundEnd & RemovalGuard;
}

/** What a read (its number), or the whole round, saw and staged is discarded (R7). */
interface DiscardCommit {
  readonly kind: 'discard';
  readonly checkpoint: Checkpoint;
  readonly forget: number | 'all';
  readonly unreadHistory?: UnreadHistory;
}

/** Columns whose edges are held back are marked: reading them again decides on the removal (R14, R18). */
interface MarkHeldCommit {
  readonly kind: 'mark-held';
  readonly checkpoint: Checkpoint;
}

/** Keys that a read has shown. */
export interface SeenKeys {
  readonly keys: readonly (readonly string[])[];
  readonly readNumber: number;
}

export interface RowCounts {
  readonly written: number;
  readonly deleted: number;
  readonly rejected: number;
}

/** What a commit has done. */
export interface CommitResult {
  readonly counts: RowCounts;
  /**
   * The checkpoint as it is stored now: a stream that was marked by this commit or in the meantime is not finished
   * (R9).
   */
  readonly checkpoint: Checkpoint;
  /** Whether removals were held back (R14). */
  readonly isHeld: boolean;
}

/** What stands from one run to the next. */
export interface OutstandingCounts {
  /** How many removals are held back (R14). */
  readonly heldRemovals: number;
  /** How many rows are rejected (R20). */
  readonly rejected: number;
}

/** One environment of a mirror, as the sync of a stream sees it. Every failure is a `SyncError`. */
export interface Destination {
  /** `NO_PROGRESS` before the stream's first page. */
  load(stream: StreamName): Promise<Checkpoint>;
  facts(stream: Stream, query: FactsQuery): Promise<RoundFacts>;
  /** The rows that the mirror has under these keys, by joined key (see `joinKey`). */
  existing(stream: Stream, keys: readonly (readonly string[])[]): Promise<Map<string, Row>>;
  /** The same, with the rows of their child tables. */
  existingWithChildren(stream: Stream, keys: readonly (readonly string[])[]): Promise<Map<string, ExistingRow>>;
  backlog(stream: Stream, query: BacklogQuery): Promise<Backlog>;
  /**
   * The next tests whose histories are to be read, at most `most`. Tests that were never read come first, then those
   * that were not read for the longest time, then those that failed last time. Tests that failed in this run are left
   * out.
   */
  dueTests(stream: Stream, most: number): Promise<readonly DueTest[]>;
  /** Writes a commit in one transaction (R5). Removals make marks for `markableStreams` alone. */
  commit(stream: Stream, commit: Commit, markableStreams: ReadonlySet<StreamName>): Promise<CommitResult>;
  outstanding(stream: Stream): Promise<OutstandingCounts>;
  /**
   * Computes the mean scores of one stale day, the newest, in one transaction.
   * @returns how many scores it looked up; null if no day is stale
   */
  renewDay(): Promise<number | null>;
}
