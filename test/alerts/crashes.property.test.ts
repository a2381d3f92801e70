import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DeliveryError } from '../../src/alerts/deliver.ts';
import { sendAlerts } from '../../src/alerts/send-alerts.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { ruleOf } from '../support/alert-rules.ts';
import { PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { asset, execution, START, test1 } from '../support/conformance/workbench.ts';
import { alertModel, byTest, distinctMessages, type ModelResult } from './model.ts';

/** `OBSYNC_RUNS=100000 npx vitest run test/alerts/crashes` takes about a quarter of an hour. */
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 40);
const TIMEOUT_MS = Math.max(1_000_000, RUNS * 100);
const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);

const SUB_TESTS = ['a.1', 'a.2', 'b.1'] as const;

let mirror: MirrorFile;
/** Statements until the next crash; null for none. */
let left: number | null = null;
beforeAll(() => {
  const opened = openForWriting(':memory:');
  const prepare: MirrorFile['prepare'] = (...given) => {
    if (left !== null && --left < 0) throw new Crash();
    return opened.prepare(...given);
  };
  mirror = { ...opened, prepare };
});
afterAll(() => mirror.connection.close());

class Crash extends Error {}

/** Runs work that crashes at its `nth` statement, if it has so many. */
async function crashing<Done>(nth: number | null, work: () => Promise<Done>): Promise<Done | null> {
  left = nth;
  try {
    return await work();
  } catch (error) {
    if (String(error).includes('Crash') || (error as Error).cause instanceof Crash || error instanceof Crash)
      return null;
    throw error;
  } finally {
    left = null;
  }
}

const streamOf = (name: string) => {
  const found = CATALOGUE.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

const END = { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false } as const;

/** A mirror with the tests `a` and `b`, and a channel. */
async function simulate(after: number) {
  const clock = (): string => START;
  const names = mirror.connection
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like '\\_\\_%' escape '\\' and name not like 'sqlite%'",
    )
    .pluck()
    .all();
  for (const name of names) mirror.connection.exec(`delete from "${name}"`);
  const state = fileState(mirror, clock);
  await state.claimMirror('http://localhost');
  const options = { envId: 'e', run: 1, clock, alertRules: [ruleOf({ kinds: ['test'], after })] };
  const destination = createSqliteDestination(mirror, options);
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
      return (await crashing(nth, () => destination.commit(latest, end, new Set()))) !== null;
    },
    send: (nth: number | null, isAccepted: () => boolean) =>
      crashing(nth, () =>
        sendAlerts([{ name: 'it', type: 'exec', program: 'true', args: [] }], {
          outstanding: (channel) => state.outstandingDeliveries(channel, ['e']),
          isOutstanding: (delivery) => state.isOutstanding(delivery),
          record: (delivery, result) => state.recordDelivery(delivery, result),
          async deliver(_, { message }, key) {
            if (!isAccepted()) throw new DeliveryError('refused', { isOfMessage: true });
            received.push({ key, what: `${message.event} ${message.subject}` });
          },
          now: clock,
          signal: new AbortController().signal,
        }),
      ),
  };
}

const initial = (): ModelResult[] =>
  SUB_TESTS.map((key) => ({ key, test: key.slice(0, 1), status: 'PASS', evidence: 'x' }));

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
      const [real, model] = [await simulate(after), alertModel(after)];
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
  const real = await simulate(1);
  await real.stage(initial());
  await real.commit(null);
  await real.stage(failing);
  const tables = ['alerts', 'alert_deliveries', 'latest_test_executions'];
  const stored = () => JSON.stringify(tables.map((table) => mirror.connection.prepare(`select * from ${table}`).all()));
  const before = stored();
  let nth = 0;
  while (!(await real.commit(nth))) {
    expect(stored(), `after a crash at statement ${nth}`).toBe(before);
    nth += 1;
  }
  expect(nth).toBeGreaterThan(25);
  await real.send(null, () => true);
  expect(real.received.map(({ what }) => what).sort()).toEqual(['begin a', 'begin b']);
});
