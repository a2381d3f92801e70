import fc from 'fast-check';
import { test } from 'vitest';
import { PROPERTIES } from './properties.ts';

const LONG = { timeout: 1_000_000 };
/** Limits the time spent on shrinking a failed history. */
const BOUND = { interruptAfterTimeLimit: 300_000, markInterruptAsFailure: false };

/** One test per property, with its share of `runs` random histories or of `OBSYNC_RUNS`, but at least five. */
export function checkProperties(runs: number, defaultSeed: number): void {
  const seed = Number(process.env['OBSYNC_SEED'] ?? defaultSeed);
  const all = Number(process.env['OBSYNC_RUNS'] ?? runs);
  test.each(PROPERTIES)('$title', LONG, async ({ property, share }) => {
    await fc.assert(property, { seed, numRuns: Math.max(5, Math.ceil((all * share) / 100)), ...BOUND });
  });
}
