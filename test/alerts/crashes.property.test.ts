import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../src/alerts/deliver.ts';
import { sendAlerts } from '../../src/alerts/send-alerts.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { asset, execution, START, test1 } from '../support/conformance/workbench.ts';
import { type CrashingMirror, postgresMirror, sqliteMirror } from './crashing-mirror.ts';
import { alertModel, byTest, distinctMessages, type ModelResult } from './model.ts';

/** `OBSYNC_RUNS=100000 npx vitest run test/alerts/crashes` takes about a quarter of an hour. */
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 40);
const TIMEOUT_MS = Math.max(1_000_000, RUNS * 100);
const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);

const SUB_TESTS = ['a.1', 'a.2', 'b.1'] as const;

const streamOf = (name: string) => {
  const found = CATALOGUE.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

const END = { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false } as const;

/** A mirror with the tests `a` and `b`, and a channel. */
async function simulate(mirror: CrashingMirror, after: number) {
  const { state, destination } = await mirror.start(after);
  const checkpoint = { ...NO_PROGRESS, watermark: START };
  const show = (name: string, items: readonly object[]) => {
    const changes = decodePage(streamOf(name), items).rows.map(({ row }) => ({
      row: { ...row, deleted_at: null, deletion: null },
      kind: 'inserted' as const,
    }));
    return destination.commit(streamOf(name), { kind: 'page', checkpoint, changes }, new Set());
  };
  await show('assets', [asset('a')]);
  await show('tests', [test1('a'), test1('b')]);
  const latest = streamOf('latest_test_executions');
  const received: { key: string; what: string }[] = [];
  return {
    received,
    async stage(results: readonly ModelResult[]): Promise<void> {
      const items = results.map(({ key, test: id, status, evidence }) =>
        execution(key, evidence, { test_id: id, status }),
      );
      const { rows } = decodePage(latest, items);
      const page = { kind: 'page', checkpoint: NO_PROGRESS, staged: { rows, readNumber: 1 }, archived: rows } as const;
      await destination.commit(latest, page, new Set());
    },
    /** @returns whether it was committed */
    async commit(nth: number | null): Promise<boolean> {
      const end = { kind: 'round-end', checkpoint: NO_PROGRESS, roundEnd: END } as const;
      return (await mirror.crashing(nth, () => destination.commit(latest, end, new Set()))) !== null;
    },
    send: (nth: number | null, isAccepted: () => boolean) =>
      mirror.crashing(nth, () =>
        sendAlerts([{ name: 'it', type: 'exec', program: 'true', args: [] }], {
          state,
          envIds: ['e'],
          async deliver(_, { message }, key) {
            if (!isAccepted()) throw new DeliveryError('refused', { isOfMessage: true });
            received.push({ key, what: `${message.event} ${message.subject}` });
          },
          now: () => START,
          signal: new AbortController().signal,
        }),
      ),
  };
}

const initial = (): ModelResult[] =>
  SUB_TESTS.map((key) => ({ key, test: key.slice(0, 1), status: 'PASS', evidence: 'x' }));

describe.each([
  ['SQLite', sqliteMirror],
  ['PostgreSQL', postgresMirror],
])('alerts in %s', (_, openMirror) => {
  let mirror: CrashingMirror;
  beforeAll(async () => {
    mirror = await openMirror();
  });
  afterAll(() => mirror.close());

  test(
    'a crash at any statement of a commit or of a delivery loses nothing: the channel receives what the model tells',
    async () => {
      const steps = fc.array(
        fc.record({
          results: fc.tuple(...SUB_TESTS.map(() => fc.option(fc.constantFrom('PASS', 'FAIL', 'WARN', 'SKIPPED')))),
          crashAt: fc.option(fc.nat(40)),
          sending: fc.option(
            fc.record({ crashAt: fc.option(fc.nat(6)), accepted: fc.array(fc.boolean(), { maxLength: 4 }) }),
          ),
        }),
        { maxLength: 6 },
      );
      const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 2 }), async (history, after) => {
        const [real, model] = [await simulate(mirror, after), alertModel(after)];
        let latest = initial();
        const round = async (crashAt: number | null): Promise<void> => {
          await real.stage(latest);
          // After a crash the next run ends the same round.
          if (!(await real.commit(crashAt))) expect(await real.commit(null)).toBe(true);
          model.observe(latest);
        };
        await round(null);
        for (const [i, { results, crashAt, sending }] of history.entries()) {
          latest = latest.map((result, n) => {
            const status = results[n] ?? null;
            return status === null ? result : { ...result, status, evidence: `x${i}` };
          });
          await round(crashAt);
          const accepted = sending?.accepted.values();
          if (sending !== null) await real.send(sending.crashAt, () => accepted?.next().value ?? true);
        }
        latest = latest.map((result) => ({ ...result, status: 'PASS', evidence: 'last' }));
        await round(null);
        await real.send(null, () => true);
        expect(byTest(distinctMessages(real.received))).toEqual(byTest(model.told));
      });
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
    },
    TIMEOUT_MS,
  );

  test('a commit that decides alerts is undone as a whole, whichever of its statements fails', async () => {
    const failing = initial().map((result) => ({ ...result, status: 'FAIL', evidence: 'y' }));
    const real = await simulate(mirror, 1);
    await real.stage(initial());
    await real.commit(null);
    await real.stage(failing);
    const tables = ['alerts', 'alert_deliveries', 'latest_test_executions'];
    const stored = () => Promise.all(tables.map((table) => mirror.rows(table)));
    const before = await stored();
    let nth = 0;
    while (!(await real.commit(nth))) {
      expect(await stored(), `after a crash at statement ${nth}`).toEqual(before);
      nth += 1;
    }
    expect(nth).toBeGreaterThan(25);
    await real.send(null, () => true);
    expect(real.received.map(({ what }) => what).sort()).toEqual(['begin a', 'begin b']);
  });
});
