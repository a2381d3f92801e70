import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { type TwinSchema, twinSchema } from '../support/twin.ts';
import { propertiesOf } from './properties.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261122);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 10);
const BOUND = { interruptAfterTimeLimit: 300_000, markInterruptAsFailure: false };

let schema: TwinSchema;
beforeAll(async () => {
  schema = await twinSchema();
});
afterAll(() => schema.close());

const PROPERTIES = propertiesOf((file, options) => schema.makeTwin(file, options));

test.each(PROPERTIES)(
  'mirrors in PostgreSQL and SQLite give the same answers and hold the same rows: property $id',
  async ({ property, share }) => {
    await fc.assert(property, { seed: SEED, numRuns: Math.ceil((RUNS * share) / 100), ...BOUND });
  },
);
