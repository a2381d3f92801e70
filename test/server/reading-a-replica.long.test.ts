import { afterAll, beforeAll, describe } from 'vitest';
import { type TwinSchema, twinSchema } from '../support/twin.ts';
import { withServedWorld } from '../support/writing-meanwhile.ts';
import { testReading } from './reading-cases.ts';

let schema: TwinSchema;
beforeAll(async () => {
  schema = await twinSchema();
});
afterAll(() => schema.close());

describe('from the replica of a mirror in PostgreSQL', () => {
  // Each commit is repeated in PostgreSQL, and each request waits for a refresh.
  testReading((body) => withServedWorld(body, { makeTwin: (file, options) => schema.makeTwin(file, options) }), 1);
});
