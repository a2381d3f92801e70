/**
 * What the one who meets a failure has to do about it:
 * - `restart-read`: start this read again at its first page (R7)
 * - `halve-page`: start this read again at half its limit, once a run (R24)
 * - `forbidden`: give up this part, go on with the rest; scan it when it is back (R13)
 * - `absent`: the service says that this is not live, or not there (R15)
 * - `restart-round`: fail this stream and give up its round: what was asked for, or answered, is wrong for good; the next run
 *   begins anew with its own options (R8, R24)
 * - `stream`: fail this stream, go on with the rest
 * - `run`: end the run with problems (exit 1)
 * - `quota`: end the run, the account's quota is used up for longer than the run waits (exit 1, R23)
 * - `token`: end the run, the token is refused (exit 3)
 * - `usage`: end the run, what was asked for is wrong (exit 2)
 * - `locked`: end the run, another sync holds the mirror (exit 4)
 * - `budget`: stop the run cleanly at its request budget (exit 5)
 * - `signal`: stop the run cleanly, a signal came (R27)
 */
export type RecoveryKind =
  | 'restart-read'
  | 'halve-page'
  | 'forbidden'
  | 'not-live'
  | 'restart-round'
  | 'stream'
  | 'run'
  | 'quota'
  | 'token'
  | 'usage'
  | 'locked'
  | 'budget'
  | 'signal';

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

/** Recoveries that end the whole run and not only the stream that met them. */
export function endsRun(error: unknown): error is SyncError {
  return error instanceof SyncError && RUN_ENDING.has(error.recovery);
}

const RUN_ENDING = new Set<RecoveryKind>(['run', 'quota', 'token', 'usage', 'locked', 'budget', 'signal']);
