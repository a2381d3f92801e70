import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BreakingDatabase, type BreakKind, breakingDatabase } from '../support/breaking-database.ts';
import { twinSchema } from '../support/twin.ts';
import { PLAIN_SYNC } from './commands.ts';
import { histories } from './histories.ts';
import { simulate } from './simulation.ts';

const EVERY = 13;
const NUMBERS = process.env['OBSYNC_EVERY'] === undefined ? [5] : Array.from({ length: EVERY }, (_, nth) => nth);
const KINDS: readonly BreakKind[] = ['unsent', 'unanswered', 'conflict'];

const HISTORY = fc.sample(histories('reported', 12), { seed: 20261122, numRuns: 1 }).flat();

test.each(KINDS.flatMap((kind) => NUMBERS.map((nth) => [kind, nth] as const)))(
  'PostgreSQL ends with the same rows as SQLite, wherever transactions break: %s, %i (R5)',
  async (kind, nth) => {
    let database: BreakingDatabase | undefined;
    const schema = await twinSchema((server, name) => {
      database = breakingDatabase(server, { schema: name, kind, every: EVERY, nth });
      return database;
    });
    const simulation = simulate(['e1'], schema.makeTwin);
    try {
      for (const command of [PLAIN_SYNC, ...HISTORY, PLAIN_SYNC]) await simulation.perform(command);
      expect(simulation.violations()).toEqual([]);
      await simulation.mirrored.equalsTwin();
      expect(database?.breaks()).toBeGreaterThan(50);
    } finally {
      await simulation.close();
      await schema.close();
    }
  },
);
