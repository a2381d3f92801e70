import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BreakingDatabase, type BreakKind, breakingDatabase } from '../support/breaking-database.ts';
import { twinSchema } from '../support/twin.ts';
import { histories, live, PLAIN } from './history.ts';

const EVERY = 13;
const NUMBERS = process.env['OBSYNC_EVERY'] === undefined ? [5] : Array.from({ length: EVERY }, (_, nth) => nth);
const KINDS: readonly BreakKind[] = ['unsent', 'unanswered', 'conflict'];

const HISTORY = fc.sample(histories('told', 12), { seed: 20261122, numRuns: 1 }).flat();

test.each(KINDS.flatMap((kind) => NUMBERS.map((nth) => [kind, nth] as const)))(
  'PostgreSQL ends with the same rows as SQLite, wherever transactions break: %s, %i (R5)',
  async (kind, nth) => {
    let database: BreakingDatabase | undefined;
    const schema = await twinSchema((server, name) => {
      database = breakingDatabase(server, { schema: name, kind, every: EVERY, nth });
      return database;
    });
    const life = live(['e1'], schema.pair);
    try {
      for (const step of [PLAIN, ...HISTORY, PLAIN]) await life.take(step);
      expect(life.check()).toEqual([]);
      await life.mirrored.equalsTwin();
      expect(database?.breaks()).toBeGreaterThan(50);
    } finally {
      await life.close();
      await schema.close();
    }
  },
);
