import type { Checkpoint, IdleCheckpoint, Round, RoundCheckpoint, ScanDue } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import type { RoundEnd } from '../ports/destination.ts';
import { isScanned, type Stream } from '../stream.ts';
import { addDays, type Instant, laterOf } from '../time/instant.ts';
import { isTrusted } from './choose-round.ts';
import { isScannedAgain } from './round.ts';
import { MAX_AUTO_DAYS } from './scan-interval.ts';
import { readAt, roundReadAt } from './trusted-until.ts';

/** The checkpoint after a round. The watermark moves, unless the run received no `Date` (R1, R2). */
export function checkpointAfterRound(
  stream: Stream,
  checkpoint: RoundCheckpoint,
  end: RoundEnd,
  context: Context,
): IdleCheckpoint {
  const { serverTime, cycle, run } = context;
  const { round } = checkpoint;
  const at = round.pages === 0 ? serverTime : round.firstPageAt;
  const scan = round.mode === 'scan';
  const unavailable = hasNoHistories(stream, checkpoint);
  const watermark = unavailable ? checkpoint.watermark : watermarkAfter(checkpoint, context);
  const waitingScan = waitingScanAfter(checkpoint, watermark, at, serverTime);
  // A scan that failed in an earlier run is still to be tried if these feeds began in an earlier run, too (R9).
  const isTried = waitingScan !== null || (!scan && (checkpoint.scanTriedInRun === run || round.run !== run));
  return {
    watermark,
    scannedAt: (scan ? at : null) ?? checkpoint.scannedAt,
    scanEndedAt: (scan ? serverTime : null) ?? checkpoint.scanEndedAt,
    scanEndedCycle: scan ? cycle : checkpoint.scanEndedCycle,
    scanPages: scan ? round.scanPages : checkpoint.scanPages,
    scanDue: dueAfter(stream, checkpoint, end, isKeptInDoubt(stream, checkpoint, watermark, context)),
    unavailable,
    finishedCycle: (unavailable || round.cycle === cycle) && !round.incomplete ? cycle : checkpoint.finishedCycle,
    round: null,
    pageLimit:
      round.mode === 'scan' || round.mode === 'snapshot' ? pageLimitAfter(checkpoint, context) : checkpoint.pageLimit,
    scanTriedInRun: isTried ? checkpoint.scanTriedInRun : null,
    waitingScan,
    returns: checkpoint.returns,
  };
}

/** Only so many tests that newly answer 404, and no history read, show that live histories are lost. */
const MIN_LOST = 5;

/**
 * Whether a round read no history because every test answered 404, even with fewer tests than `recover` waits for
 * (R15). Lost histories stay lost until one is read or none is due.
 */
function hasNoHistories({ method }: Stream, { watermark, unavailable, round }: RoundCheckpoint): boolean {
  if (method !== 'window' || round.pages > 0) return false;
  if (round.incomplete) return unavailable;
  return round.consecutiveNotFound >= (watermark === null || unavailable ? 1 : MIN_LOST);
}

/**
 * T of the round's first page, or the later watermark that the feeds reached while the scan waited. It stays if a feed
 * was left out (R9), and moves back only if it was ahead of every clock reading (R1).
 */
function watermarkAfter({ watermark, round }: RoundCheckpoint, context: Context): Instant | null {
  const { serverTime, newestReading } = context;
  if (serverTime === null || newestReading === null || (round.mode === 'feed' && round.incomplete)) return watermark;
  const at = roundReadAt(round, serverTime);
  const kept = watermark !== null && watermark <= newestReading ? watermark : null;
  const reached = [at, round.fedUntil ?? null, kept].filter((each) => each !== null);
  return reached.length === 0 ? null : reached.reduce(laterOf);
}

/**
 * What the feeds see while a scan waits counts as seen by the scan, so its reads continue their numbering, and it
 * counts from the first page of either (R9, R12). By then, a later response may have shown that its own was dated too
 * late: a run hours later couldn't tell (R1).
 */
function waitingScanAfter(
  { round, waitingScan }: RoundCheckpoint,
  fedUntil: Instant | null,
  fedAt: Instant | null,
  serverTime: Instant | null,
): Round | null {
  if (round.mode === 'scan' || waitingScan === null) return null;
  const firstPageAt = readAt({ at: waitingScan.firstPageAt ?? fedAt }, serverTime);
  return { ...waitingScan, reads: round.reads, fedUntil, firstPageAt };
}

/**
 * Larger pages are tried again once a list has been read whole and `--full-every`, or the longest time under `auto`,
 * has passed since they failed. The limit doubles each time, undoing one halving (R24).
 */
function pageLimitAfter({ pageLimit }: Checkpoint, context: Context): Checkpoint['pageLimit'] {
  const { serverTime, latestServerTime, options } = context;
  if (pageLimit === null || latestServerTime === null) return pageLimit;
  const { rows, at } = pageLimit;
  if (at === null) return { rows, at: serverTime };
  const days = options.fullEveryDays === 'auto' ? MAX_AUTO_DAYS : options.fullEveryDays;
  if (addDays(at, days) > latestServerTime) return pageLimit;
  return 2 * rows >= options.pageSize ? null : { rows: 2 * rows, at: serverTime };
}

/** Another scan is due if the sweep was contradicted (R12), the watermark is unsure (R1), or for a new reason (R13). */
function dueAfter(
  stream: Stream,
  { scanDue, round }: RoundCheckpoint,
  { sweep }: RoundEnd,
  isInDoubt: boolean,
): ScanDue | null {
  if (!isScanned(stream)) return null;
  if (sweep !== null && isScannedAgain(round)) return 'refuted';
  return scanDue ?? (isInDoubt ? 'clock' : null);
}

/**
 * Whether a scan left in place a watermark that was still in the future when the scan read its first page, or may have
 * been: the next feed must not start there, even if time has passed it since (R1).
 */
function isKeptInDoubt(
  { method }: Stream,
  { round, watermark }: RoundCheckpoint,
  after: Instant | null,
  { serverTime, options }: Context,
): boolean {
  if (method !== 'feed' || round.mode !== 'scan' || watermark === null || serverTime === null) return false;
  const whenRead = { serverTime: roundReadAt(round, serverTime), options };
  return after === watermark && round.fedUntil !== watermark && !isTrusted(watermark, whenRead);
}
