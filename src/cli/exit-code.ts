import type { RecoveryKind } from '../core/errors.ts';

const CODES: Readonly<Partial<Record<RecoveryKind, number>>> = { usage: 2, token: 3, locked: 4, budget: 5 };

/** The exit code of a failure (see docs/json-and-exit-codes.md). */
export function exitCodeOf(recoveryKind: RecoveryKind): number {
  return CODES[recoveryKind] ?? 1;
}

const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_CODES[signal] ?? 1;
}
