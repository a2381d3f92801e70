import { isRunRecovery, type RecoveryKind, type RunRecovery } from '../core/errors.ts';

const CODES: Readonly<Record<RunRecovery, number>> = {
  run: 1,
  quota: 1,
  usage: 2,
  token: 3,
  locked: 4,
  budget: 5,
  signal: 1,
};

/** The exit code of a failure (see docs/json-and-exit-codes.md). */
export function exitCodeOf(recovery: RecoveryKind): number {
  return isRunRecovery(recovery) ? CODES[recovery] : 1;
}

const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_CODES[signal] ?? 1;
}
