import { exitCodeAfter } from '../../src/cli/signals.ts';
import { exitCodeOf } from '../../src/core/errors.ts';
import type { Ended } from './sync-file.ts';

/** The line that the command prints to stderr after a run, and its exit code. */
export function reportOf({ summary, error }: Ended): { line: string | null; code: number } {
  if (error !== null) return { line: error.message, code: exitCodeOf(error.recovery) };
  if (summary === null) throw new Error('a run without an end');
  return { line: summary.error, code: exitCodeAfter(summary, null) };
}

export const SUCCESS = { line: null, code: 0 };
