import type { Checkpoint, Round, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { Settlement } from './destination.ts';
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

/** Another scan is due if the sweep was contradicted (R12), or if something came up since the round began (R13). */
function dueAfter({ scanDue, round }: Checkpoint, { sweep }: Settlement): ScanDue | null {
  return sweep !== null && ((round as Round).refuted || sweep.through !== null) ? 'refuted' : scanDue;
}
