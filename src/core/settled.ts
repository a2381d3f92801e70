import type { Checkpoint, Round, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { Commit, Settlement } from './destination.ts';
import { isScannedAgain } from './plan.ts';
import type { Stream } from './stream.ts';

/** The checkpoint after a round has ended: the watermark moves, unless the run met no `Date` (R1, R2). */
export function settled(
  stream: Stream,
  checkpoint: Checkpoint,
  settlement: Settlement,
  { now, pass }: Context,
): Checkpoint {
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
  };
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
