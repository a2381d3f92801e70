import fc from 'fast-check';
import { test } from 'vitest';
import { PROPERTIES } from './properties.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 80);
const LONG = { timeout: 1_000_000 };
/** Limits the time spent on shrinking a failed history. */
const BOUND = { interruptAfterTimeLimit: 300_000, markInterruptAsFailure: false };

test.each(PROPERTIES)('$says', LONG, async ({ property, share }) => {
  await fc.assert(property, { seed: SEED, numRuns: Math.ceil((RUNS * share) / 100), ...BOUND });
});
