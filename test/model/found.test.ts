import { expect, test } from 'vitest';
import type { Action } from './actions.ts';
import { type Command, PLAIN_SYNC } from './commands.ts';
import { put, remove, undelete } from './environment.ts';
import { expectEqual } from './expectations.ts';
import { makeMalformed, repairNth } from './malformed.ts';
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

/** The list of BI assets returns an older version than one whose time only a server's clock would expose. */
const OLDER_WITHOUT_DATE: Command[] = [
  { type: 'dates', dates: 'never' },
  act('stampInFuture', 1),
  { ...PLAIN_SYNC, full: true },
  act('breakScan', 0),
  { type: 'advance', seconds: 8 * DAY },
  act('unknownField', 1),
  { ...PLAIN_SYNC, pageSize: 1 },
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

test.each([
  ['a feed', 'tests', 't3', [2 * HOUR]],
  ['the lookup of an asset', 'assets', 'a3', [300, HOUR]],
  ['the lookup of a test', 'tests', 't3', [300, HOUR]],
] as const)(
  'a rejected row stays rejected while %s returns only a version that its tombstone beats (R20)',
  async (_, kind, id, seconds) => {
    const simulation = simulate(['e1']);
    const { world } = simulation;
    const env = world.environment('e1');
    const sync = async () => (await simulation.perform(PLAIN_SYNC)).summary?.status;
    try {
      world.advance(2 * HOUR);
      await sync();
      makeMalformed(env, kind, id);
      put(env, kind, id, { description: 'changed' });
      expect(await sync()).toBe('problems');
      remove(env, kind, id);
      world.advance(300);
      await sync();
      world.advance(300);
      undelete(env, kind, id);
      await sync();
      repairNth(env, 0);
      for (const each of seconds) {
        world.advance(each);
        if ((await sync()) === 'done') expectEqual(simulation);
      }
      expectEqual(simulation);
    } finally {
      await simulation.close();
    }
  },
);

test.each<[string, Command[]]>([
  ['a bound that expires while its request is being prepared is not sent (R3)', BOUND_EXPIRES_IN_RUN],
  ['of two versions on a page the winner stays, even if the stored time was untrusted (R10)', TRUSTED_WITHOUT_DATE],
  ['without a server time, a typed list does not replace a version with a later time (R10, R22)', OLDER_WITHOUT_DATE],
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
