import type { Checkpoint, IdleCheckpoint, Round, RoundCheckpoint, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { RoundEnd } from './destination.ts';
import { addDays, type Instant } from './instant.ts';
import { isScannedAgain } from './round.ts';
import type { Stream } from './stream.ts';

/** The checkpoint after a round has ended: the watermark moves, unless the run met no `Date` (R1, R2). */
export function finishRound(
  stream: Stream,
  checkpoint: RoundCheckpoint,
  roundEnd: RoundEnd,
  context: Context,
): IdleCheckpoint {
  const { serverTime, cycle } = context;
  const { round } = checkpoint;
  const at = round.pages === 0 ? serverTime : round.firstPageAt;
  const scan = round.mode === 'scan';
  const unavailable = noneAnswered(stream, checkpoint);
  const watermark = unavailable ? null : watermarkAfter(checkpoint, context);
  const scanTriedInRun = scan ? null : checkpoint.scanTriedInRun;
  const waitingScan = scan ? null : readOnBeside(checkpoint.waitingScan, { reads: round.reads, fedUntil: watermark });
  return {
    watermark,
    scannedAt: (scan ? at : null) ?? checkpoint.scannedAt,
    scanEndedAt: (scan ? serverTime : null) ?? checkpoint.scanEndedAt,
    scanEndedCycle: scan ? cycle : checkpoint.scanEndedCycle,
    scanDue: stream.method === 'feed' ? dueAfter(checkpoint, roundEnd) : null,
    unavailable,
    finishedCycle: isComplete({ round, scanTriedInRun, waitingScan }, context) ? cycle : checkpoint.finishedCycle,
    round: null,
    pageLimit: round.mode === 'scan' || round.mode === 'snapshot' ? laterOf(checkpoint, context) : checkpoint.pageLimit,
    scanTriedInRun,
    waitingScan,
    returns: checkpoint.returns,
  };
}

/**
 * Whether a first round read no history because every test answered 404, even if there are fewer tests than `recover` waits for
 * (R15).
 */
function noneAnswered({ method }: Stream, { watermark, round }: RoundCheckpoint): boolean {
  if (method !== 'window' || watermark !== null) return false;
  return round.pages === 0 && round.consecutiveNotFound > 0 && !round.incomplete;
}

/**
 * T of the round's first page, or the later watermark that the feeds reached while the scan waited. The watermark does not move if a
 * feed was left out (R9).
 */
function watermarkAfter({ watermark, round }: RoundCheckpoint, { serverTime }: Context): Instant | null {
  if (serverTime === null || (round.mode === 'feed' && round.incomplete)) return watermark;
  const at = (round.pages === 0 ? serverTime : round.firstPageAt) ?? watermark;
  const { fedUntil = null } = round;
  return fedUntil !== null && (at === null || fedUntil > at) ? fedUntil : at;
}

type EndedScan = Pick<RoundCheckpoint, 'round' | 'scanTriedInRun' | 'waitingScan'>;

/** Whether the stream is finished in this cycle: nothing was skipped (R22), and no scan failed or waits (R9). */
function isComplete({ round, scanTriedInRun, waitingScan }: EndedScan, { cycle, run }: Context): boolean {
  return round.cycle === cycle && !round.incomplete && waitingScan === null && scanTriedInRun !== run;
}

/** What the feeds saw while the scan waited counts for the scan as well, so the numbers of its reads go on from theirs (R9, R12). */
function readOnBeside(scan: Round | null, fed: { reads: number; fedUntil: Instant | null }): Round | null {
  return scan === null ? null : { ...scan, ...fed };
}

/**
 * Larger pages are tried again after a list was read whole, if `--full-every` has passed since they failed. The limit is doubled each
 * time, so that one halving undoes it (R24).
 */
function laterOf({ pageLimit }: Checkpoint, { serverTime, options }: Context): Checkpoint['pageLimit'] {
  if (pageLimit === null || serverTime === null) return pageLimit;
  const { rows, at } = pageLimit;
  if (at === null) return { rows, at: serverTime };
  if (addDays(at, options.fullEveryDays) > serverTime) return pageLimit;
  return 2 * rows >= options.pageSize ? null : { rows: 2 * rows, at: serverTime };
}

/** Another scan is due if the sweep was contradicted and left candidates (R12), or for a reason that came up meanwhile (R13). */
function dueAfter({ scanDue, round }: RoundCheckpoint, { sweep }: RoundEnd): ScanDue | null {
  return sweep !== null && isScannedAgain(round) ? 'refuted' : scanDue;
}
