/**
 * What a failure asks of the read that met it:
 * - `restart-read`: start the read again at its first page (R7)
 * - `halve-page`: start the read again at half its limit, once a run (R24)
 */
export type ReadRecovery = 'restart-read' | 'halve-page';

/**
 * What a failure asks of the stream that met it; the run goes on with the other streams (R9):
 * - `forbidden`: stop reading the stream, and scan it when the permission is back (R13)
 * - `not-live`: the service says that the stream is not live, or that a row is not there (R15)
 * - `restart-round`: the stream fails and its round is given up, because another try would fail as well; the next run
 *   begins a new round with its own options (R8, R24)
 * - `stream`: the stream fails; the next run goes on where it stopped
 */
export type StreamRecovery = 'forbidden' | 'not-live' | 'restart-round' | 'stream';

/**
 * What a failure asks of the whole run:
 * - `run`: end with problems (exit 1)
 * - `quota`: end, because the account's quota is used up for longer than the run may wait (exit 1, R23)
 * - `token`: end, because the token is refused (exit 3)
 * - `usage`: end, because a setting is wrong (exit 2)
 * - `locked`: end, because another sync has the lock of the mirror (exit 4)
 * - `budget`: stop cleanly, because the requests of the run are used up (exit 5)
 * - `signal`: stop cleanly, because a signal came (R27)
 */
export type RunRecovery = (typeof RUN_RECOVERIES)[number];

const RUN_RECOVERIES = ['run', 'quota', 'token', 'usage', 'locked', 'budget', 'signal'] as const;

/** What a failure asks of its caller: at the level of the read, of the stream, or of the run. */
export type RecoveryKind = ReadRecovery | StreamRecovery | RunRecovery;

export function isRunRecovery(kind: RecoveryKind): kind is RunRecovery {
  return RUN_RECOVERIES.some((each) => each === kind);
}

/**
 * The only error that a sync throws on purpose. Its message tells the user what to do, and is always a single line;
 * `recovery` tells the program.
 */
export class SyncError extends Error {
  readonly recovery: RecoveryKind;
  /**
   * How many tries of a request failed with a 5xx or a time-out, in earlier runs as well, when the end of the run
   * prevented the remaining tries (R24). Null for any other error.
   */
  readonly failedTries: number | null;

  constructor(kind: RecoveryKind, message: string, options?: { cause?: unknown; failedTries?: number }) {
    super(message.replaceAll(LINE_BREAKS, ' '), options);
    this.name = 'SyncError';
    this.recovery = kind;
    this.failedTries = options?.failedTries ?? null;
  }
}

/** Line breaks, and all other characters that would move the cursor of a terminal. */
const LINE_BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** A failure that ends the whole run, not only one stream. */
type RunError = SyncError & { readonly recovery: RunRecovery };

export function endsRun(error: unknown): error is RunError {
  return error instanceof SyncError && isRunRecovery(error.recovery);
}
