import type { Checkpoint, Round, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { Commit, Settlement } from './destination.ts';
import { addDays } from './instant.ts';
import { isScannedAgain } from './plan.ts';
import type { Stream } from './stream.ts';

/** The checkpoint after a round has ended: the watermark moves, unless the run met no `Date` (R1, R2). */
export function settled(stream: Stream, checkpoint: Checkpoint, settlement: Settlement, context: Context): Checkpoint {
  const { now, pass } = context;
  const round = checkpoint.round as Round;
  const at = round.pages === 0 ? now : round.firstPageAt;
  const scan = round.mode === 'scan';
  return {
    watermark: now === null ? checkpoint.watermark : (at ?? checkpoint.watermark),
    scannedAt: (scan ? at : null) ?? checkpoint.scannedAt,
    scanEndedAt: (scan ? now : null) ?? checkpoint.scanEndedAt,
    scanEndedPass: scan ? pass : checkpoint.scanEndedPass,
    scanDue: stream.method === 'feed' ? dueAfter(checkpoint, settlement) : null,
    unavailable: false,
    finishedPass: round.pass === pass && !round.incomplete ? pass : checkpoint.finishedPass,
    round: null,
    pageLimit: round.mode === 'scan' || round.mode === 'snapshot' ? raised(checkpoint, context) : checkpoint.pageLimit,
    setAside: checkpoint.setAside,
  };
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

/** What could not be asked for, because its id is too long for a URL, stays as it is: rows count as seen, marks wait (R12). */
export function waiting(stream: Stream, round: Round): Pick<Commit, 'seen' | 'left'> {
  const { passedOver: ids, lastMark, run, mode, reads } = round;
  if (ids.length === 0) return {};
  const isMarks = stream.method === 'marked' || mode === 'feed';
  return isMarks ? { left: { ids, lastMark, run } } : { seen: { keys: ids.map((id) => [id]), readNumber: reads + 1 } };
}

/** Another scan is due if the sweep was contradicted and left candidates (R12), or if something came up since (R13). */
function dueAfter({ scanDue, round }: Checkpoint, { sweep }: Settlement): ScanDue | null {
  return sweep !== null && isScannedAgain(round as Round) ? 'refuted' : scanDue;
}
