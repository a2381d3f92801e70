/**
 * How the read that failed continues:
 * - `restart-read`: restart the read from its first page (R7)
 * - `halve-page`: restart the read at half its limit, once per run (R24)
 */
export type ReadRecovery = 'restart-read' | 'halve-page';

/**
 * How the stream that failed ends; the run continues with the other streams (R9):
 * - `forbidden`: stop reading the stream, and scan it once the permission is back (R13)
 * - `not-live`: the service says that the stream is not live, or that a row does not exist (R15)
 * - `restart-round`: fail the stream and give up its round, because a retry would fail too; the next run begins a new
 *   round with its own options (R8, R24)
 * - `stream`: fail the stream; the next run resumes it
 */
export type StreamRecovery = 'forbidden' | 'not-live' | 'restart-round' | 'stream';

/**
 * How the whole run ends:
 * - `run`: with problems (exit 1)
 * - `quota`: the account's quota is used up for longer than the run may wait (exit 1, R23)
 * - `token`: the token is refused (exit 3)
 * - `usage`: a setting is wrong (exit 2)
 * - `locked`: another sync holds the mirror's lock (exit 4)
 * - `budget`: cleanly, because the run's requests are used up (exit 5)
 * - `signal`: cleanly, because of a signal (R27)
 */
export type RunRecovery = keyof typeof EXIT_CODES;

/** What the caller must do about a failure: with the read, the stream or the run. */
export type RecoveryKind = ReadRecovery | StreamRecovery | RunRecovery;

export function isRunRecovery(kind: RecoveryKind): kind is RunRecovery {
  return Object.hasOwn(EXIT_CODES, kind);
}

const EXIT_CODES = { run: 1, quota: 1, usage: 2, token: 3, locked: 4, budget: 5, signal: 1 };

/** The exit code of a failure (see docs/json-and-exit-codes.md). */
export function exitCodeOf(recovery: RecoveryKind): number {
  return isRunRecovery(recovery) ? EXIT_CODES[recovery] : 1;
}

/** The exit code of a run that no signal has ended. */
export function exitCodeOfRun(run: { readonly recovery: RecoveryKind | null; readonly status: string }): number {
  if (run.recovery !== null) return exitCodeOf(run.recovery);
  return run.status === 'done' ? 0 : 1;
}

/** The only error that a sync throws on purpose: `message` is a line for the user, `recovery` is for the program. */
export class SyncError extends Error {
  readonly recovery: RecoveryKind;
  /**
   * If the end of the run prevented the remaining tries of a request: how many of them failed with a 5xx or a time-out,
   * earlier runs included (R24). Null for any other error.
   */
  readonly failedTries: number | null;

  constructor(kind: RecoveryKind, message: string, options?: { cause?: unknown; failedTries?: number }) {
    super(message.replaceAll(LINE_BREAKS, ' '), options);
    this.name = 'SyncError';
    this.recovery = kind;
    this.failedTries = options?.failedTries ?? null;
  }
}

/** A wrong setting. */
export function usageError(message: string, options?: { cause?: unknown }): SyncError {
  return new SyncError('usage', message, options);
}

/** Line breaks and all other characters that would move a terminal's cursor. */
const LINE_BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** A failure that ends the whole run, not only one stream. */
type RunError = SyncError & { readonly recovery: RunRecovery };

export function endsRun(error: unknown): error is RunError {
  return error instanceof SyncError && isRunRecovery(error.recovery);
}

export function translateErrors<Done>(work: Promise<Done>, errorOf: (error: unknown) => unknown): Promise<Done> {
  return work.catch((error: unknown) => {
    throw errorOf(error);
  });
}

/** The text of anything thrown, for a message or a log. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The stable code of an error of Node, a driver or undici; empty if it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
