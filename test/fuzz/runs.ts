const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);

/** As of the histories of `test/model`: 80 is a usual run, and every property here has its share of it. */
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 80);

/** How often fast-check tries a property that a usual run tries so many times; a try that hangs is a counterexample. */
export function tries(usual: number): { seed: number; numRuns: number; timeout: number } {
  return { seed: SEED, numRuns: Math.max(1, Math.round((usual * RUNS) / 80)), timeout: 200_000 };
}

/** A long run has the time it takes. */
export const LONG = { timeout: 1_000_000 * Math.max(1, RUNS / 80) };
