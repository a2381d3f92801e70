const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);

/** As in `test/model`, 80 is the default. Every property here runs a share of it. */
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 80);

/** Scales the usual number of tries of a property. A try that hangs counts as a failure. */
export function tries(usual: number): { seed: number; numRuns: number; timeout: number } {
  return { seed: SEED, numRuns: Math.max(1, Math.round((usual * RUNS) / 80)), timeout: 200_000 };
}

/** A long run has no time limit. */
export const LONG = { timeout: 1_000_000 * Math.max(1, RUNS / 80) };
