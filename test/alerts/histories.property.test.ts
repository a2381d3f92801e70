import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../src/alerts/deliver.ts';
import { type SenderPorts, sendAlerts } from '../../src/alerts/send-alerts.ts';
import type { Alert, AlertCondition, AlertKind } from '../../src/core/alerts/alert.ts';
import { type AlertChange, decideAlerts, ruleKey } from '../../src/core/alerts/decide-alerts.ts';
import { type AlertDelivery, messageOf } from '../../src/core/alerts/delivery.ts';
import { addSeconds } from '../../src/core/time/instant.ts';
import { ruleOf } from '../support/alert-rules.ts';
import { START } from '../support/conformance/workbench.ts';
import { alertModel, byTest, distinctMessages, type ModelResult } from './model.ts';

/** `OBSYNC_RUNS=100000 npx vitest run test/alerts/histories` takes some minutes. */
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 300);
const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);

const SUB_TESTS = ['a.1', 'a.2', 'b.1', 'c.1'] as const;
const STATUSES = ['PASS', 'PASS', 'FAIL', 'FAIL', 'WARN', 'ERROR', 'SKIPPED', 'NO_DATA'] as const;

/** How a delivery ends: accepted, refused, or with a crash before or after it, or when it is recorded. */
const OUTCOMES = [
  'accepted',
  'accepted',
  'refused',
  'unreachable',
  'crash-before',
  'crash-after',
  'crash-recording',
] as const;

/** A new execution of some sub-tests, whether the commit survives, and how deliveries end then. */
const steps = fc.array(
  fc.record({
    results: fc.tuple(...SUB_TESTS.map(() => fc.option(fc.constantFrom(...STATUSES)))),
    isCommitted: fc.boolean(),
    sends: fc.option(fc.array(fc.constantFrom(...OUTCOMES), { maxLength: 6 })),
    secondsLater: fc.integer({ min: -5000, max: 5000 }),
  }),
  { maxLength: 12 },
);

class Crash extends Error {}

/** A mirror that stores alerts and messages, and a channel that receives some of them. */
function simulate(after: number) {
  const rule = ruleOf({ kinds: ['test'], after });
  const alerts = new Map<string, Alert>();
  const applied = new Set<string>();
  const waiting: AlertDelivery[] = [];
  const received: { key: string; what: string }[] = [];
  let at = START;
  let commits = 0;
  const store = ({ alert, event, isDropped, condition }: AlertChange): void => {
    const message = messageOf({ alert, event, isDropped, condition }, null, null);
    if (isDropped || alert.endedAt !== null) alerts.delete(alert.id);
    else alerts.set(alert.id, { ...alert, message: alert.message ?? message });
    if (event !== null)
      waiting.push({ env_id: 'e', alert_id: alert.id, number: alert.messages, channel: 'it', message, refusals: 0 });
  };
  return {
    received,
    pass: (seconds: number): void => {
      at = addSeconds(at, seconds);
    },
    commit(results: readonly ModelResult[]): void {
      commits += 1;
      const conditions = results.filter(({ status }) => status !== 'PASS').map(conditionOf);
      const input = { rules: [rule], environment: null, kinds: ['test'] as AlertKind[], conditions, applied, at };
      const newId = (_: string, __: string, subject: string): string => `${commits}-${subject}`;
      for (const change of decideAlerts({ ...input, alerts: [...alerts.values()], rootOf: (id) => id, newId }))
        store(change);
      applied.add(ruleKey('r', 'test'));
    },
    async send(outcomes: readonly (typeof OUTCOMES)[number][]): Promise<void> {
      const next = outcomes.values();
      let outcome: (typeof OUTCOMES)[number] = 'accepted';
      const ports: SenderPorts = {
        state: {
          outstandingDeliveries: async () => [...waiting],
          isOutstanding: async (delivery) => waiting.includes(delivery),
          async recordDelivery(delivery, { error }) {
            if (outcome === 'crash-recording') throw new Crash();
            if (error === null) waiting.splice(waiting.indexOf(delivery), 1);
          },
        },
        envIds: [],
        async deliver(_, { message }, key) {
          outcome = next.next().value ?? 'accepted';
          if (outcome === 'crash-before') throw new Crash();
          if (outcome === 'refused' || outcome === 'unreachable')
            throw new DeliveryError(outcome, { isOfMessage: outcome === 'refused' });
          received.push({ key, what: `${message.event} ${message.subject}` });
          if (outcome === 'crash-after') throw new Crash();
        },
        now: () => at,
        signal: new AbortController().signal,
      };
      await sendAlerts([{ name: 'it', type: 'exec', program: 'true', args: [] }], ports).catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error;
      });
    },
  };
}

function conditionOf({ key, test: testId, status, evidence }: ModelResult): AlertCondition {
  return { kind: 'test', key, evidence, facts: { name: key, testId, status } };
}

test('whatever crashes, what a channel receives is what the model tells, each once, in order, and with its end', async () => {
  const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), async (history, after) => {
    const [real, model] = [simulate(after), alertModel(after)];
    let latest: ModelResult[] = SUB_TESTS.map((key) => ({ key, test: key.slice(0, 1), status: 'PASS', evidence: '' }));
    const commit = (): void => {
      real.commit(latest);
      model.observe(latest);
    };
    for (const [i, { results, isCommitted, sends, secondsLater }] of history.entries()) {
      real.pass(secondsLater);
      latest = latest.map((result, n) => {
        const status = results[n] ?? null;
        return status === null ? result : { ...result, status, evidence: `x${i}` };
      });
      if (isCommitted) commit();
      if (sends !== null) await real.send(sends);
    }
    latest = latest.map((result) => ({ ...result, status: 'PASS' }));
    commit();
    await real.send([]);
    const messages = distinctMessages(real.received);
    expect(byTest(messages)).toEqual(byTest(model.told));
    for (const each of Object.values(byTest(messages)))
      expect(each.map((message) => message.split(' ')[0]).join(' ')).toMatch(/^(begin( remind)* end ?)*$/);
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
}, 1_000_000);
