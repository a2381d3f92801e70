import type { Checkpoint, Round, ScanDue } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { Settlement } from './destination.ts';

/** The checkpoint after a round has ended: the watermark moves, unless the run met no `Date` (R1, R2). */
export function settled(checkpoint: Checkpoint, settlement: Settlement, { now, pass }: Context): Checkpoint {
  const round = checkpoint.round as Round;
  const at = round.pages === 0 ? now : round.firstPageAt;
  const scan = round.mode === 'scan';
  return {
    watermark: now === null ? checkpoint.watermark : (at ?? checkpoint.watermark),
    scannedAt: (scan ? at : null) ?? checkpoint.scannedAt,
    scanEndedAt: (scan ? now : null) ?? checkpoint.scanEndedAt,
    scanEndedPass: scan ? pass : checkpoint.scanEndedPass,
    scanDue: scan ? dueAfterScan(checkpoint, settlement, pass) : checkpoint.scanDue,
    unavailable: false,
    finishedPass: round.pass === pass ? pass : checkpoint.finishedPass,
    round: null,
  };
}

/** A scan leaves no other due, unless its sweep was contradicted (R12) or one came up after it began in an earlier pass (R13). */
function dueAfterScan({ scanDue, round }: Checkpoint, { sweep }: Settlement, pass: number): ScanDue | null {
  const begun = round as Round;
  if (sweep !== null && (begun.refuted || sweep.through !== null)) return 'refuted';
  return begun.pass === pass || begun.reason === scanDue ? null : scanDue;
}
