import type { Checkpoint, LookupRead, Round } from './checkpoint.ts';
import type { DecodedRow, RejectedRow } from './decode.ts';
import type { Instant } from './instant.ts';
import type { RowChange } from './newest-wins.ts';
import type { Row, Stream, StreamName } from './stream.ts';

/** What the mirror holds, as far as the next round depends on it. */
export interface RoundFacts {
  /** Whether the stream has live rows. */
  readonly hasRows: boolean;
  /** Marks that the stream owes, by whether the marked row was synced at or after the bound asked about. */
  readonly marks: { readonly inside: number; readonly outside: number };
  /** Whether rows stand rejected that can be asked for by id (R20). */
  readonly hasRejected: boolean;
  /** Whether rows without a usable key stand rejected: a whole read alone tells that they are gone (R20). */
  readonly hasKeyless: boolean;
  /** The number of the last mark made (R18). */
  readonly lastMark: number;
  /** Checkpoints of the stream's own environment, by stream. */
  readonly checkpoints: ReadonlyMap<StreamName, Checkpoint>;
}

/** What a stream still owes: the next ids in order. */
export interface Backlog {
  readonly ids: readonly string[];
  /** What asking for all of it is weighed against: known only of the first ids of `owned` and `marked` (R13, R18, R22). */
  readonly weighed: { readonly ids: number; readonly rows: number } | null;
}

/** What is owed in a round: after the last id asked for, by marks that the round has to pay. */
export interface BacklogQuery extends Pick<LookupRead, 'after' | 'before'>, Pick<Round, 'lastMark' | 'run' | 'mode'> {
  readonly about: Exclude<LookupRead['about'], 'tests'>;
}

export interface DueTest {
  readonly id: string;
  /** T of its last reading, null if it was never read. */
  readonly readAt: Instant | null;
  /** Start of its earliest execution known. */
  readonly knownFrom: Instant | null;
  /** The mirror's own time now. */
  readonly mirroredAt: Instant;
  /** Rows a page of its history may have, since a larger one failed; null for as many as asked for (R24). */
  readonly pageLimit: number | null;
  /** 1 when rows of its history stand rejected: they are looked for wherever they may be (R20). */
  readonly hasRejected: number;
}

/** A test's history could not be read, and is skipped in this run (R22). */
export interface UnreadHistory {
  readonly testId: string;
  /** Rows a page of it may have when it is asked for again; null to leave that as it is (R24). */
  readonly pageLimit: number | null;
}

/** What a finished round does to its table in the end. */
export interface RoundEnd {
  /** Rows of a feed stream that the scan did not see go, as of `at`; without a server time the mirror's own stands in, which
   * decides nothing (R1). */
  readonly sweep: { readonly at: Instant | null } | null;
  /** What was gathered takes the place of the whole table, or of the marked columns' edges (R16, R18). */
  readonly replace: 'all' | 'marked' | null;
  /**
   * Rows after this key were not asked for, and stay, since others came back, or were out of sight; null when all may go, and all
   * marks are paid (R12, R18).
   */
  readonly through: string | null;
  /** What came back by id, from this read on, counts as seen by the next scan; null when no scan follows at once (R12). */
  readonly rememberFrom: number | null;
  /** Marks up to this number are paid, but those that the round left. */
  readonly lastMark: number;
  /** The run that began the round. */
  readonly run: number;
  /** It read the whole stream: rows rejected before and not since are gone (R20). */
  readonly isWhole: boolean;
}

/**
 * Rows a settlement would remove, of how many; those whose owner went by tombstone count in neither. `live` is counted no
 * further than twice `going`: all that is asked is whether more than half goes (R14).
 */
export interface RemovalCount {
  readonly live: number;
  readonly toRemove: number;
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
export type Commit = PageCommit | RoundEndCommit | DiscardCommit | ReleaseCommit;

/** What a page changes; also a change without a page, such as marks that are made or a history that could not be read. */
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
   * Ids that were asked for and not shown. What was rejected of them before the run `since` is gone, unless the mirror holds an
   * earlier version live: a tombstone or a scan decides on that one (R20).
   */
  readonly notShown?: { readonly ids: readonly string[]; readonly since: number };
  /** New marks: the stream that has to read, and the id (R13, R18, R22). */
  readonly marks?: readonly { readonly stream: StreamName; readonly id: string }[];
  /** Marks of this stream that are cleared, if made no later than `lastMark`; null clears them whenever they were made. */
  readonly clearedMarks?: { readonly ids: readonly string[]; readonly lastMark: number | null };
  readonly leftMarks?: LeftMarks;
  /** Live rows of these parents that the reads from `sinceRead` on did not see are absent (R13). */
  readonly sweptParents?: {
    readonly by: string;
    readonly ids: readonly string[];
    readonly sinceRead: number;
    readonly at: Instant | null;
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
  readonly roundEnd: RoundEnd & { readonly hold: boolean };
  readonly seen?: SeenKeys;
  readonly leftMarks?: LeftMarks;
}

/** What a read (its number), or the whole round, saw and staged is discarded (R7). */
interface DiscardCommit {
  readonly kind: 'discard';
  readonly checkpoint: Checkpoint;
  readonly forget: number | 'all';
  readonly unreadHistory?: UnreadHistory;
}

/** Removals that were held back are applied (R14). */
interface ReleaseCommit {
  readonly kind: 'release';
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

/** One environment's part of a mirror, as the sync of one stream sees it. Every failure is a `SyncError`. */
export interface Destination {
  /** `NO_PROGRESS` before the stream's first page. */
  load(stream: StreamName): Promise<Checkpoint>;
  facts(stream: Stream, since: Instant | null): Promise<RoundFacts>;
  /** The rows held under these keys, by joined key (see `joinKey`). */
  existing(stream: Stream, keys: readonly (readonly string[])[]): Promise<Map<string, Row>>;
  backlog(stream: Stream, query: BacklogQuery): Promise<Backlog>;
  /**
   * The next tests whose histories are to be read, as many as `most`: those that failed last time after all others, those never
   * read first, then the longest unread. None that failed in this run.
   */
  dueTests(stream: Stream, most: number): Promise<readonly DueTest[]>;
  countRemovals(stream: Stream, roundEnd: RoundEnd): Promise<RemovalCount>;
  /** All of it in one transaction (R5). `markableStreams` says which streams have marks made for them by removals. */
  commit(stream: Stream, commit: Commit, marking: ReadonlySet<StreamName>): Promise<RowCounts>;
  /** Removals held back at present (R14). */
  heldRemovals(stream: Stream): Promise<number>;
  /** Rows that stand rejected at present (R20). */
  rejected(stream: Stream): Promise<number>;
}
