/**
 * What a failure asks of the read that met it:
 * - `restart-read`: start the read again at its first page (R7)
 * - `halve-page`: start the read again at half its limit, once a run (R24)
 */
export type ReadRecovery = 'restart-read' | 'halve-page';

/**
 * What a failure asks of the stream that met it; the run goes on with the other streams (R9):
 * - `forbidden`: give the stream up, and scan it when the permission is back (R13)
 * - `not-live`: the service says that the stream is not live, or that a row is not there (R15)
 * - `restart-round`: fail the stream and give up its round: the request, or the answer, is wrong for good; the next run begins
 *   anew with its own options (R8, R24)
 * - `stream`: fail the stream; the next run goes on where it stood
 */
export type StreamRecovery = 'forbidden' | 'not-live' | 'restart-round' | 'stream';

/**
 * What a failure asks of the whole run:
 * - `run`: end with problems (exit 1)
 * - `quota`: end, the account's quota is used up for longer than the run waits (exit 1, R23)
 * - `token`: end, the token is refused (exit 3)
 * - `usage`: end, what was asked for is wrong (exit 2)
 * - `locked`: end, another sync holds the mirror (exit 4)
 * - `budget`: stop cleanly at the request budget (exit 5)
 * - `signal`: stop cleanly, a signal came (R27)
 */
export type RunRecovery = (typeof RUN_RECOVERIES)[number];

const RUN_RECOVERIES = ['run', 'quota', 'token', 'usage', 'locked', 'budget', 'signal'] as const;

/** What the one who meets a failure has to do about it: at the level of the read, of the stream, or of the run. */
export type RecoveryKind = ReadRecovery | StreamRecovery | RunRecovery;

export function isRunRecovery(recoveryKind: RecoveryKind): recoveryKind is RunRecovery {
  return RUN_RECOVERIES.some((each) => each === recoveryKind);
}

/**
 * The one error of the sync: its message tells the user what to do, on one line whatever it quotes; `recovery` tells the
 * program.
 */
export class SyncError extends Error {
  readonly recovery: RecoveryKind;
  /**
   * Of a request that the end of the run cut off from its further tries: how many have failed, those of earlier runs included, all
   * by a 5xx or a time-out (R24). Null for any other.
   */
  readonly failedTries: number | null;

  constructor(recoveryKind: RecoveryKind, message: string, options?: { cause?: unknown; failedTries?: number }) {
    super(message.replaceAll(LINE_BREAKS, ' '), options);
    this.name = 'SyncError';
    this.recovery = recoveryKind;
    this.failedTries = options?.failedTries ?? null;
  }
}

/** And whatever else would move the cursor of a terminal. */
const LINE_BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** A failure that ends the whole run and not only the stream that met it. */
type RunError = SyncError & { readonly recovery: RunRecovery };

export function endsRun(error: unknown): error is RunError {
  return error instanceof SyncError && isRunRecovery(error.recovery);
}
