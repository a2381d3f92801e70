import type { Instant } from './instant.ts';
import type { Query } from './source.ts';

/** Why a round is read the way it is; kept in the run log. */
export type RoundReason =
  | 'first' // nothing was mirrored before
  | 'full' // asked for with --full
  | 'full-every' // the last scan ended too long ago (R13)
  | 'permission' // the stream had answered 403 (R13)
  | 'returned' // its environment had not been listed (R13)
  | 'refuted' // the last sweep was contradicted (R12)
  | 'clock' // the watermark lies in the future, or there is no server time (R1)
  | 'clamp' // the feeds no longer reach back to the watermark (R3)
  | 'fewer-requests' // asking for the marked rows would take more requests than a scan (R18, R22)
  | 'increment' // the feeds, or the marked rows
  | 'snapshot' // it can only be read whole
  | 'window'; // tests with news

export type ScanDue = Extract<RoundReason, 'permission' | 'returned' | 'refuted' | 'clamp'>;

/** All progress of one stream of one environment: between rounds, or in a round. */
export type Checkpoint = IdleCheckpoint | RoundCheckpoint;

/** The progress of a stream between rounds. */
export interface IdleCheckpoint extends StreamProgress {
  readonly round: null;
}

/** The progress of a stream in a round. */
export interface RoundCheckpoint extends StreamProgress {
  readonly round: Round;
}

/** The progress of a stream in a round, with a read under way. */
export interface ReadCheckpoint extends StreamProgress {
  readonly round: Round & { readonly read: Read };
}

/** What a stream keeps from round to round. */
interface StreamProgress {
  /** T of the run that committed the first page of the last finished round (R2). */
  readonly watermark: Instant | null;
  /** T of the run that committed the first page of the last finished scan. */
  readonly scannedAt: Instant | null;
  /** T of the run in which the last scan ended (R13). */
  readonly scanEndedAt: Instant | null;
  readonly scanEndedCycle: number | null;
  readonly scanDue: ScanDue | null;
  readonly unavailable: boolean;
  readonly finishedCycle: number | null;
  /** Null while no page has failed for being too large (R24). */
  readonly pageLimit: PageLimit | null;
  /** The run in which the due scan failed last: no run tries it twice. Null once one has begun anew or ended (R9). */
  readonly scanTriedInRun: number | null;
  /** The due scan that a later run goes on with where it stood, while the feeds go on; null when there is none (R9). */
  readonly waitingScan: Round | null;
}

/** How many rows a page of the stream may have, since a larger one failed every try (R24). */
interface PageLimit {
  readonly rows: number;
  /** T of the run that set it; null if that met none. */
  readonly at: Instant | null;
}

type RoundMode = 'scan' | 'feed' | 'snapshot' | 'marked' | 'window';

/** The reads that together bring a stream up to date, as far as they have come (R2). */
export interface Round {
  readonly mode: RoundMode;
  readonly reason: RoundReason;
  /** The run that began it. */
  readonly run: number;
  /** The cycle that began it: one begun in an earlier cycle is followed by another round (R6). */
  readonly cycle: number;
  /** The due scan that this one is; what comes up while it goes on is due beside it (R13). */
  readonly due: ScanDue | null;
  /** Pages committed so far. */
  readonly pages: number;
  /** T of the run that committed the first page: the next watermark (R2). */
  readonly firstPageAt: Instant | null;
  /** Of a scan that waited: the watermark that the feeds have reached beside it (R9). */
  readonly fedUntil?: Instant | null;
  /** Marks up to this number were made before the round began (R18). */
  readonly lastMark: number;
  /** Keys seen are kept, for a sweep at the end. A mirror without rows needs none. */
  readonly sweeps: boolean;
  /** A candidate of the sweep came back (R12), or the leading list did not show what was asked for in it (R18). */
  readonly sweepContradicted: boolean;
  /** What is left to read; the first is under way. */
  readonly steps: readonly ReadStep[];
  /** The read under way; null between reads. */
  readonly read: Read | null;
  /** Reads begun so far: the number of the last. */
  readonly reads: number;
  /** The last candidate, or unshown row, asked for; null when all of them were (R12, R18). */
  readonly confirmedUpTo: string | null;
  /** The number of the first read that asked for candidates; null while none has. */
  readonly firstConfirmation: number | null;
  /** Of a round that an older version began: ids too long for a URL, that its end has yet to pass over (R12). */
  readonly passedOver?: readonly string[];
  /** Tests in a row that answered 404, or 403 (R15, R22). */
  readonly consecutiveNotFound: number;
  /** Something was passed over that could not be read: the stream is not finished with this round (R22). */
  readonly incomplete: boolean;
}

export type ReadStep = ListRead | LookupRead;

/** One walk over pages under one fixed query. */
export interface ListRead {
  readonly do: 'list';
  readonly as: 'scan' | 'upserts' | 'tombstones' | 'snapshot';
  readonly query: Query;
}

/** What a stream still owes, asked for by id, a chunk at a time. */
export interface LookupRead {
  readonly do: 'look-up';
  /**
   * `candidates` of a sweep (R12), rows `owned` by what moved (R13), `marked` rows (R18, R22), marked rows that these reads left
   * `unshown`, in the leading list (R18), `tests` with news (R22), rows that stand `rejected` (R20).
   */
  readonly about: 'candidates' | 'owned' | 'marked' | 'unshown' | 'tests' | 'rejected';
  /** The last id asked for; ids are asked for in their order. */
  readonly after: string;
  /** Requests begun. */
  readonly asked: number;
  /** The chunk under way, read once in each variant. */
  readonly ids: readonly string[];
  /** Those of the chunk whose marks are not paid by what its pages have shown so far (R13, R18). */
  readonly unpaid: readonly string[];
  readonly variant: number;
  /** Of marked rows only those last synced before this; the upserts feed has shown the others (R18). */
  readonly before: Instant | null;
}

/** One cursor-paged read under one fixed query. */
export interface Read {
  readonly as: ListRead['as'] | LookupRead['about'];
  /** Its number in the round: what it alone saw or gathered is kept under it (R7). */
  readonly number: number;
  readonly path: readonly string[];
  readonly query: Query;
  readonly cursor: string | null;
  /** Of the page at the cursor: see `PageRequest` (R24). */
  readonly failedTries?: number;
  /** T of the run in which it began (R10). */
  readonly at: Instant | null;
  /** How often it was started again in `restartRun` (R7). */
  readonly restarts: number;
  readonly restartRun: number;
  /** The run in which it was last started again at half its limit; null if it never was (R24). */
  readonly halvedRun: number | null;
  /** Which test's history this is, and what its end is to record (R22). */
  readonly history: HistoryRead | null;
}

/** The reading of one test's history. */
interface HistoryRead {
  readonly testId: string;
  /** The mirror's own time when it began. */
  readonly mirroredAt: Instant;
  /** A stretch that was never read and is out of reach. */
  readonly gap: { readonly from: Instant; readonly to: Instant } | null;
}

export const NO_PROGRESS: IdleCheckpoint = {
  watermark: null,
  scannedAt: null,
  scanEndedAt: null,
  scanEndedCycle: null,
  scanDue: null,
  unavailable: false,
  finishedCycle: null,
  round: null,
  pageLimit: null,
  scanTriedInRun: null,
  waitingScan: null,
};
