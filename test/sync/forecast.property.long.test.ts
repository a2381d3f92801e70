import fc from 'fast-check';
import { describe, test } from 'vitest';
import { PLAIN_SYNC } from '../model/commands.ts';
import { histories } from '../model/histories.ts';
import { heal, simulate } from '../model/simulation.ts';
import { DAY, HOUR } from '../model/world.ts';
import { expectForecastHolds } from '../support/forecasting.ts';

/** The run to forecast: its delay after the last one, and its options. */
const NEXT = fc.record({
  seconds: fc.constantFrom(1, 2 * HOUR, 8 * DAY, 100 * DAY),
  wish: fc.record({ pageSize: fc.constantFrom(1, 2, 3, 2000), full: fc.boolean(), history: fc.boolean() }),
});

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 4);

describe('a forecast after any history', () => {
  test('it equals what the next run sends, if everything was last read in pages of the same size', async () => {
    await fc.assert(
      fc.asyncProperty(histories('all', 10), NEXT, async (steps, { seconds, wish }) => {
        const life = simulate(['e1', 'e2']);
        try {
          for (const step of steps) await life.perform(step);
          heal(life);
          // No forecast can know that a list will fail.
          life.world.environment().maxPageRows.clear();
          await life.perform({ ...PLAIN_SYNC, pageSize: wish.pageSize });
          await life.perform({ ...PLAIN_SYNC, pageSize: wish.pageSize, full: true });
          life.world.advance(seconds);
          await expectForecastHolds(life, wish);
        } finally {
          life.mirrored.close();
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
