import type { SyncError } from '../core/errors.ts';
import type { StreamContext } from './contexts.ts';
import { createMismatchList, type Mismatch, type MismatchList } from './mismatch.ts';

/** One stream of one environment, and what verify has found so far. Findings stay when a failure ends it. */
export interface StreamVerification {
  readonly streamContext: StreamContext;
  /** How far the comparison got. */
  outcome: 'compared' | 'unsynced' | 'unavailable' | 'failed' | 'stopped';
  error: SyncError | null;
  /** Rows that the source returned. */
  rows: number;
  requests: number;
  /** The source does not count its tables (R15). */
  isUncounted: boolean;
  /** Mismatches that are still to be explained. */
  fresh: Mismatch[];
  /** Mismatches that the feeds did not explain; the verdict says which were requested again. */
  readonly unexplained: MismatchList;
  /** Mismatches that the next sync removes. */
  readonly pending: MismatchList;
}

export function createVerification(context: StreamContext): StreamVerification {
  return {
    streamContext: context,
    outcome: 'compared',
    error: null,
    rows: 0,
    requests: 0,
    isUncounted: false,
    fresh: [],
    unexplained: createMismatchList(),
    pending: createMismatchList(),
  };
}

export function mismatchesOf({ pending, unexplained }: StreamVerification): Mismatch[] {
  return [...pending.listed.values(), ...unexplained.listed.values()];
}
