import type { StatusLevel } from './parts/icon.ts';

const LEVELS: Readonly<Record<string, StatusLevel>> = {
  PASS: 'good',
  WARN: 'warn',
  FAIL: 'bad',
  ERROR: 'broken',
  done: 'good',
  running: 'neutral',
  problems: 'warn',
  held: 'warn',
  waiting: 'warn',
  stopped: 'warn',
  interrupted: 'warn',
  unavailable: 'warn',
  denied: 'bad',
  failed: 'bad',
  refused: 'bad',
};

/** How bad a result of a test, or the end of a run, is. A status that nobody has heard of is neither good nor bad. */
export const levelOf = (status: string | null): StatusLevel =>
  status === null ? 'neutral' : (LEVELS[status] ?? 'neutral');
