import type { Recovery } from '../core/errors.ts';

const CODES: Readonly<Partial<Record<Recovery, number>>> = { usage: 2, token: 3, locked: 4, budget: 5 };

/** What the shell is told of a failure (see the README). */
export function exitCodeOf(recovery: Recovery): number {
  return CODES[recovery] ?? 1;
}

const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_CODES[signal] ?? 1;
}
