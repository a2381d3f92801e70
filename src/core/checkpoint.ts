import type { Query } from './ports/source.ts';
import type { StreamName } from './stream.ts';
import type { Instant } from './time/instant.ts';

/** Why a round is read in its mode; recorded in the run log. */
export type RoundReason =
  | 'first' // nothing was mirrored before
  | 'full' // requested with --full
  | 'full-every' // the last scan ended too long ago (R13)
  | 'permission' // the stream answered 403 before (R13)
  | 'returned' // its environment was unlisted for a while (R13)
  | 'refuted' // the last sweep was contradicted (R12)
  | 'clock' // the watermark lies in the future, or there is no server time (R1)
  | 'clamp' // the feeds no longer reach back to the watermark (R3)
  | 'fewer-requests' // looking up the marked rows would take more requests than a scan (R18, R22)
  | 'increment' // the feeds, or the marked rows
  | 'snapshot' // the stream can only be read whole
  | 'window'; // the histories that are due

export type ScanDue = Extract<RoundReason, 'permission' | 'returned' | 'refuted' | 'clamp' | 'clock'>;

/** All progress of one stream in one environment, between rounds or within one. */
export type Checkpoint = IdleCheckpoint | RoundCheckpoint;

export type IdleCheckpoint = StreamProgress & { readonly round: null };

export type RoundCheckpoint = StreamProgress & { readonly round: Round };

/** The progress of a stream in a round, with a read under way. */
export type ReadCheckpoint = StreamProgress & { readonly round: Round & { readonly read: Read } };

/** What a stream carries from one round to the next. */
interface StreamProgress {
  /** T of the run that committed the first page of the last finished round (R2). */
  readonly watermark: Instant | null;
  /** T of the run that committed the first page of the last finished scan. */
  readonly scannedAt: Instant | null;
  /** T of the run in which the last scan ended (R13). */
  readonly scanEndedAt: Instant | null;
  readonly scanEndedCycle: number | null;
  /** How many pages of its lists the last finished scan read; 0 if unknown (R13). */
  readonly scanPages: number;
  readonly scanDue: ScanDue | null;
  readonly unavailable: boolean;
  readonly finishedCycle: number | null;
  /** Null unless a page failed because it was too large (R24). */
  readonly pageLimit: PageLimit | null;
  /** The run in which the due scan last failed; no run tries it twice. Null once a scan started over or ended (R9). */
  readonly scanTriedInRun: number | null;
  /** A due scan that a later run resumes, while the feeds continue; null if there is none (R9). */
  readonly waitingScan: Round | null;
  /** How many returns of its environment the stream has handled (R13). */
  readonly returns: number;
}

/** The most rows that a page of the stream may have, because a larger page failed every try (R24). */
interface PageLimit {
  readonly rows: number;
  /** T of the run that set it; null if that run had no server time. */
  readonly at: Instant | null;
}

type RoundMode = 'scan' | 'feed' | 'snapshot' | 'marked' | 'window';

/** The reads that together bring a stream up to date, and their progress (R2). */
export interface Round {
  readonly mode: RoundMode;
  readonly reason: RoundReason;
  /** The run that began it. */
  readonly run: number;
  /** The cycle that began it. A round from an earlier cycle is followed by another one (R6). */
  readonly cycle: number;
  /** Why this scan was due. A scan that becomes due meanwhile is recorded separately (R13). */
  readonly due: ScanDue | null;
  /** Pages committed so far. */
  readonly pages: number;
  /** Pages of the scan's lists; pages that are read again after a restart count again (R13). */
  readonly scanPages: number;
  /** T of the run that committed the first page: the next watermark (R2). */
  readonly firstPageAt: Instant | null;
  /** If the scan waited, the watermark that the feeds reached in the meantime (R9). */
  readonly fedUntil?: Instant | null;
  /** Marks up to this number were made before the round began (R18). */
  readonly lastMark: number;
  /** Whether seen keys are recorded for a sweep at the end. An empty mirror needs no sweep. */
  readonly sweeps: boolean;
  /** A candidate of the sweep was returned (R12), or a parent's list lacks a row that was looked up in it (R18). */
  readonly sweepContradicted: boolean;
  /** The remaining steps; the first one is in progress. */
  readonly steps: readonly ReadStep[];
  /** The current read; null between reads. */
  readonly read: Read | null;
  /** How many reads have begun, which is the number of the latest. */
  readonly reads: number;
  /** The last candidate or unshown row that was looked up; null if all were (R12, R18). */
  readonly confirmedUpTo: string | null;
  /** The number of the first read that looked up candidates; null before it. */
  readonly firstConfirmation: number | null;
  /**
   * How many tests in a row answered 404 or 403. While histories are live, only the 404s of tests that were read at the
   * last try count: a deleted test is not counted again in each round (R15, R22).
   */
  readonly consecutiveNotFound: number;
  /** Something was skipped because it could not be read, so this round does not finish the stream (R22). */
  readonly incomplete: boolean;
}

export type ReadStep = ListRead | LookupRead;

/** A step that reads one list, page by page, under one fixed query. */
export interface ListRead {
  readonly do: 'list';
  readonly as: 'scan' | 'upserts' | 'tombstones' | 'snapshot';
  readonly query: Query;
}

/** A step that looks rows up by id, one chunk of ids at a time. */
export interface LookupRead {
  readonly do: 'look-up';
  /**
   * - `candidates`: rows that a sweep would delete (R12), or whose held-back removal is to be applied (R14)
   * - `ties`: rows whose tombstones in the feed may be older than they are (R10)
   * - `owned`: rows of parents that were deleted or came back (R13)
   * - `marked`: marked rows (R18, R22)
   * - `unshown`: marked rows that these reads did not return, or parents whose rows they did not return; looked up in
   *   the parent's list (R13, R18)
   * - `tests`: the histories that are due (R13, R22)
   * - `rejected`: rejected rows (R20)
   * - `suspect`: rows that a verification found to differ, one step per chunk
   */
  readonly about: 'candidates' | 'ties' | 'owned' | 'marked' | 'unshown' | 'tests' | 'rejected' | 'suspect';
  /** The last id that was looked up; ids are looked up in ascending order. */
  readonly after: string;
  /** How many requests have begun. */
  readonly asked: number;
  /** The ids of the current chunk, which is read once per variant. */
  readonly ids: readonly string[];
  /** The chunk's ids with uncleared marks (R13, R18); of suspect and rejected rows, those not yet returned. */
  readonly pendingIds: readonly string[];
  readonly variant: number;
  /** The number of the chunk's first read; a waiting scan may resume between two variants (R9). 0 if unknown. */
  readonly firstRead?: number;
  /**
   * Only marked rows last synced before this time are looked up; the upserts feed returns the others (R18). Histories
   * last read before it are due by age (R13).
   */
  readonly before: Instant | null;
}

/** One cursor-paged read under one fixed query. */
export interface Read {
  readonly as: ListRead['as'] | LookupRead['about'];
  /** Its number within the round. The keys and staged rows of the read are stored under it (R7). */
  readonly number: number;
  readonly path: readonly string[];
  readonly query: Query;
  readonly cursor: string | null;
  /** Progress through the pages; absent before the first. */
  readonly paging?: ReadPaging;
  /** How many tries of the page at the cursor failed in earlier runs, see `PageRequest` (R24). */
  readonly failedTries?: number;
  /** T of the run in which the read began (R10). */
  readonly at: Instant | null;
  /** How often the read was restarted in `restartRun` (R7). */
  readonly restarts: number;
  readonly restartRun: number;
  /** The run that last restarted the read at half its limit; null if none did (R24). */
  readonly halvedRun: number | null;
  /** The history that this read fetches, and what to record at its end (R22). */
  readonly history: HistoryRead | null;
}

interface ReadPaging {
  readonly pages: number;
  /** The run that requested the last page. */
  readonly run: number;
  /** The cursor after 1, 2, 4, 8, … pages (Brent's algorithm): a cycle of any length returns to it (R8). */
  readonly landmark: string | null;
}

/** The read of one test's history. */
interface HistoryRead {
  readonly testId: string;
  /** The mirror's own time when the read began. */
  readonly mirroredAt: Instant;
  /** Whether the last try read it, so a 404 is news (R15). */
  readonly wasRead: boolean;
  /** The run in which the read began; when it restarts, it does not begin again (R20). */
  readonly run?: number;
  /** As in `DueTest`. */
  readonly readAt?: Instant | null;
  readonly knownFrom?: Instant | null;
  /** The latest start time on its committed pages, where it restarts; null before the first one. */
  readonly through?: Instant | null;
  readonly gaps?: readonly HistoryGap[];
}

/** A period of a history that was never read and that the service no longer returns. */
export interface HistoryGap {
  readonly from: Instant;
  readonly to: Instant;
}

/**
 * The checkpoint of each stream of an environment; before the stream's first page, `NO_PROGRESS` with the returns of
 * the environment so far.
 */
export type CheckpointOf = (stream: StreamName) => Checkpoint;

export const NO_PROGRESS: IdleCheckpoint = {
  watermark: null,
  scannedAt: null,
  scanEndedAt: null,
  scanEndedCycle: null,
  scanPages: 0,
  scanDue: null,
  unavailable: false,
  finishedCycle: null,
  round: null,
  pageLimit: null,
  scanTriedInRun: null,
  waitingScan: null,
  returns: 0,
};
