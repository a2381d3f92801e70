import { expect, test } from 'vitest';
import type { Action } from './actions.ts';
import { type Command, PLAIN_SYNC } from './commands.ts';
import { expectEqual } from './expectations.ts';
import { heal, simulate } from './simulation.ts';
import { DAY, HOUR } from './world.ts';

/** Histories that once broke an invariant, shrunk as far as possible. */

const act = (name: Action['name'], n: number): Command => ({ type: 'act', action: { name, n, m: 0, variant: 0 } });

const BOUND_EXPIRES_IN_RUN: Command[] = [
  { type: 'advance', seconds: 59 * DAY },
  { ...PLAIN_SYNC, pageSize: 1, faults: [{ type: 'delay', at: 8, days: 30 }] },
];

const TRUSTED_WITHOUT_DATE: Command[] = [
  { type: 'advance', seconds: 1 },
  { type: 'permission', collection: 'environment', as: 'open' },
  act('breakScan', 1),
  { type: 'advance', seconds: 8 * DAY },
  act('asset', 1),
  { ...PLAIN_SYNC, pageSize: 1 },
  act('stampInFuture', 1),
  act('asset', 0),
  { ...PLAIN_SYNC, pageSize: 1 },
  { type: 'dates', dates: 'never' },
  { ...PLAIN_SYNC, pageSize: 100, concurrency: 1, history: false, allowShrink: true },
  act('column', 0),
  act('column', 1),
  act('column', 2),
  {
    ...PLAIN_SYNC,
    pageSize: 1,
    concurrency: 1,
    history: false,
    faults: [{ type: 'crash-in-stream', stream: 'columns', at: 1 }],
  },
  { type: 'act', action: { name: 'removeAsset', n: 0, m: 0, variant: 1 } },
  { ...PLAIN_SYNC, pageSize: 1, concurrency: 1, history: false, only: ['assets'] },
  { ...PLAIN_SYNC, pageSize: 1, concurrency: 1, history: false },
];

/** Marks of columns that leave the feed's lookback while lineage cannot be scanned. */
const MARKED_OUT_OF_REACH: Command[] = [
  { type: 'act', action: { name: 'removeAsset', n: 0, m: 0, variant: 0 } },
  { type: 'advance', seconds: 300 },
  { ...PLAIN_SYNC, pageSize: 3 },
  { type: 'advance', seconds: 300 },
  { type: 'restore', n: 0 },
  { ...PLAIN_SYNC, pageSize: 3 },
  { type: 'permission', collection: 'column-lineage', as: 'notLive' },
  { ...PLAIN_SYNC, full: true },
  { type: 'advance', seconds: 90 * DAY },
  { ...PLAIN_SYNC, full: true },
];

/** A test is rejected, deleted and restored with its old time, and then repaired without a new one. */
const REPAIRED_BEHIND_TOMBSTONE: Command[] = [
  { type: 'advance', seconds: 2 * HOUR },
  PLAIN_SYNC,
  { type: 'act', action: { name: 'malformedChange', n: 3, m: 0, variant: 2 } },
  PLAIN_SYNC,
  act('removeAsset', 3),
  { type: 'advance', seconds: 300 },
  PLAIN_SYNC,
  { type: 'advance', seconds: 300 },
  { type: 'restore', n: 3 },
  PLAIN_SYNC,
  act('repair', 0),
  { type: 'advance', seconds: 2 * HOUR },
  PLAIN_SYNC,
];

test('a rejected row stays rejected while a feed returns only a version that its tombstone beats (R20)', async () => {
  const simulation = simulate(['e1']);
  try {
    for (const command of REPAIRED_BEHIND_TOMBSTONE) await simulation.perform(command);
    expectEqual(simulation);
  } finally {
    await simulation.close();
  }
});

test.each<[string, Command[]]>([
  ['a bound that expires while its request is being prepared is not sent (R3)', BOUND_EXPIRES_IN_RUN],
  ['of two versions on a page the winner stays, even if the stored time was untrusted (R10)', TRUSTED_WITHOUT_DATE],
  [
    'a mark beyond the reach of the feed stays until its edges have been read, even if its column is returned (R18)',
    MARKED_OUT_OF_REACH,
  ],
])('%s', async (_, commands) => {
  const simulation = simulate(['e1', 'e2']);
  try {
    await simulation.perform({ ...PLAIN_SYNC, only: ['assets'] });
    for (const command of commands) await simulation.perform(command);
    heal(simulation);
    await simulation.perform(PLAIN_SYNC);
    expect(simulation.violations()).toEqual([]);
  } finally {
    await simulation.close();
  }
});
