import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { LoggedRequest } from '../model/world.ts';
import { testSchema } from '../support/postgres.ts';
import { countQuota } from '../support/quota-server.ts';
import { countOf } from './points.ts';
import { expectMirrored, quiet, standing } from './postgres-reference.ts';
import { createWriter, type WriterFault } from './postgres-writer.ts';
import { serveWorld } from './served-world.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261122);
const RUNS = Number(process.env['OBSYNC_CHAOS_RUNS'] ?? 2);

const at = 'request' as const;
const after = fc.integer({ min: 1, max: 25 });
const writerFault: fc.Arbitrary<WriterFault> = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill', 'stop', 'cut'), at: fc.constant(at), after }),
  // A process stopped in a transaction keeps its locks.
  fc.record({ kind: fc.constant('kill'), at: fc.constant('statement'), after: fc.integer({ min: 1, max: 200 }) }),
  // A command exits if its first connection fails.
  fc.record({ kind: fc.constant('cut'), at: fc.constant('statement'), after: fc.integer({ min: 12, max: 200 }) }),
);

/** The faults of each of two to eight writers. With more writers, each has fewer faults. */
const writerFaults = fc.integer({ min: 2, max: 8 }).chain((writers) =>
  fc.array(fc.array(writerFault, { minLength: 1, maxLength: writers > 4 ? 1 : 3 }), {
    minLength: writers,
    maxLength: writers,
  }),
);

const HISTORIES = fc
  .sample(writerFaults, { seed: SEED, numRuns: RUNS })
  .map((faults, i) => ({ name: `${faults.length} writers, ${SEED}/${i}`, faults }));

const requestsOf = (log: readonly LoggedRequest[], envId: string) =>
  countOf(log.filter(({ path }) => path.startsWith(`${envId}/`)));

test.each(HISTORIES)(
  'disturbed writers mirror the same as an undisturbed sync, within the quota: $name (R5, R6, R23, R26)',
  async ({ faults }) => {
    const envIds = faults.map((_, i) => `e${i + 1}`);
    const world = standing(envIds);
    const { contents, first, second } = await quiet(world);
    const from = world.log.length;
    const schema = await testSchema();
    onTestFinished(() => schema.drop());
    const writers = await Promise.all(envIds.map((envId, i) => createWriter(schema, envId, faults[i] ?? [])));
    const quota = countQuota({ limit: 40, windowMs: 1000, isFixed: true });
    const meet = (_: number, [envId]: readonly string[]): boolean =>
      writers.find((writer) => writer.envId === envId)?.onRequest() ?? true;
    const url = await serveWorld(world, meet, quota);
    const written = await Promise.all(writers.map((writer) => writer.write(url)));

    for (const { ended, displaced } of written) {
      expect(ended.at(-1)).toMatchObject({ code: 0, stderr: '' });
      for (const { code, stderr } of [...ended.slice(0, -1), ...displaced])
        expect({ code, stderr }).toEqual({
          code: 4,
          stderr: expect.stringMatching(/^obsync: another process [^\n]+\n$/),
        });
    }
    await expectMirrored(schema.url, contents);
    expect(world.violations).toEqual([]);
    expect(quota.refused()).toBe(0);
    for (const [i, { lost, processes }] of written.entries()) {
      const envId = envIds[i] ?? '';
      const [once, again] = [requestsOf(first, envId), requestsOf(second, envId)];
      const beyond = [...requestsOf(world.log.slice(from), envId)].flatMap(([name, sent]) => {
        const most = (once.get(name) ?? 0) + (processes - 1) * (again.get(name) ?? 0);
        return sent > most ? [{ name, beyond: sent - most }] : [];
      });
      expect(
        beyond.reduce((sum, each) => sum + each.beyond, 0),
        JSON.stringify(beyond),
      ).toBeLessThanOrEqual(lost);
    }
  },
);
