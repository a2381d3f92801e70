import type { Checkpoint, Round, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { Settlement } from './destination.ts';
import { addDays, type Instant } from './instant.ts';
import { isScannedAgain, type PassedOver, waiting } from './plan.ts';
import type { Stream } from './stream.ts';

/** The checkpoint after a round has ended: the watermark moves, unless the run met no `Date` (R1, R2). */
export function settled(stream: Stream, checkpoint: Checkpoint, settlement: Settlement, context: Context): Checkpoint {
  const { now, pass } = context;
  const round = checkpoint.round as Round;
  const at = round.pages === 0 ? now : round.firstPageAt;
  const scan = round.mode === 'scan';
  const unavailable = noneAnswered(stream, checkpoint);
  const watermark = unavailable ? null : watermarkAfter(checkpoint, context);
  const scanTriedInRun = scan ? null : checkpoint.scanTriedInRun;
  const waitingScan = scan ? null : readOnBeside(checkpoint.waitingScan, { reads: round.reads, fedUntil: watermark });
  return {
    watermark,
    scannedAt: (scan ? at : null) ?? checkpoint.scannedAt,
    scanEndedAt: (scan ? now : null) ?? checkpoint.scanEndedAt,
    scanEndedPass: scan ? pass : checkpoint.scanEndedPass,
    scanDue: stream.method === 'feed' ? dueAfter(checkpoint, settlement) : null,
    unavailable,
    finishedPass: isComplete({ round, scanTriedInRun, waitingScan }, context) ? pass : checkpoint.finishedPass,
    round: null,
    pageLimit: round.mode === 'scan' || round.mode === 'snapshot' ? raised(checkpoint, context) : checkpoint.pageLimit,
    scanTriedInRun,
    waitingScan,
  };
}

/** In a first round of fewer histories than are tried before they are given up, all answered that they are not there (R15). */
function noneAnswered({ method }: Stream, { watermark, round }: Checkpoint): boolean {
  if (method !== 'window' || watermark !== null || round === null) return false;
  return round.pages === 0 && round.misses > 0 && !round.incomplete;
}

/** The T of the round's first page, unless one of its feeds was left out, or what the feeds have reached beside a scan since (R9). */
function watermarkAfter({ watermark, round }: Checkpoint, { now }: Context): Instant | null {
  if (now === null || round === null || (round.mode === 'feed' && round.incomplete)) return watermark;
  const at = (round.pages === 0 ? now : round.firstPageAt) ?? watermark;
  const { fedUntil = null } = round;
  return fedUntil !== null && (at === null || fedUntil > at) ? fedUntil : at;
}

type Ended = Pick<Checkpoint, 'round' | 'scanTriedInRun' | 'waitingScan'>;

/** Whether the stream has come to its end in this pass: nothing passed over (R22), no scan that failed or waits (R9). */
function isComplete({ round, scanTriedInRun, waitingScan }: Ended, { pass, run }: Context): boolean {
  return round?.pass === pass && !round.incomplete && waitingScan === null && scanTriedInRun !== run;
}

/** What the feeds saw meanwhile counts for the scan as well: its reads go on with their numbers (R9, R12). */
function readOnBeside(scan: Round | null, fed: { reads: number; fedUntil: Instant | null }): Round | null {
  return scan === null ? null : { ...scan, ...fed };
}

/**
 * Larger pages are tried again after a list was read whole, once `--full-every` has passed since they failed: twice as large each
 * time, so that one halving undoes it (R24).
 */
function raised({ pageLimit }: Checkpoint, { now, options }: Context): Checkpoint['pageLimit'] {
  if (pageLimit === null || now === null) return pageLimit;
  const { rows, at } = pageLimit;
  if (at === null) return { rows, at: now };
  if (addDays(at, options.fullEveryDays) > now) return pageLimit;
  return 2 * rows >= options.pageSize ? null : { rows: 2 * rows, at: now };
}

/** What a round that an older version began could not ask for (R12). */
export function unasked({ method }: Stream, round: Round): PassedOver {
  const { passedOver: ids = [], mode } = round;
  return ids.length === 0 ? {} : waiting(round, method === 'marked' || mode === 'feed' ? 'marked' : 'candidates', ids);
}

/** Another scan is due if the sweep was contradicted and left candidates (R12), or if something came up since (R13). */
function dueAfter({ scanDue, round }: Checkpoint, { sweep }: Settlement): ScanDue | null {
  return sweep !== null && isScannedAgain(round as Round) ? 'refuted' : scanDue;
}
