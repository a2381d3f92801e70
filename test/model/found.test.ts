import { expect, test } from 'vitest';
import type { Happening } from './happenings.ts';
import { live, openUp, PLAIN, type Step } from './history.ts';
import { DAY } from './world.ts';

/** Histories that once broke an invariant, as short as they could be made. */

const happen = (what: Happening['what'], n: number): Step => ({ step: 'happen', happening: { what, n, m: 0, how: 0 } });

const OUT_OF_REACH_MEANWHILE: Step[] = [
  { step: 'advance', seconds: 59 * DAY },
  { ...PLAIN, pageSize: 1, troubles: [{ do: 'wait', at: 8, days: 30 }] },
];

const BELIEVED_WITHOUT_DATE: Step[] = [
  { step: 'advance', seconds: 1 },
  { step: 'scope', collection: 'environment', as: 'open' },
  happen('scanBreaks', 1),
  { step: 'advance', seconds: 8 * DAY },
  happen('asset', 1),
  { ...PLAIN, pageSize: 1 },
  happen('fromFuture', 1),
  happen('asset', 0),
  { ...PLAIN, pageSize: 1 },
  { step: 'dates', dates: 'never' },
  { ...PLAIN, pageSize: 100, concurrency: 1, history: false, allowShrink: true },
  happen('column', 0),
  happen('column', 1),
  happen('column', 2),
  { ...PLAIN, pageSize: 1, concurrency: 1, history: false, troubles: [{ do: 'crashIn', stream: 'columns', at: 1 }] },
  { step: 'happen', happening: { what: 'assetGoes', n: 0, m: 0, how: 1 } },
  { ...PLAIN, pageSize: 1, concurrency: 1, history: false, only: ['assets'] },
  { ...PLAIN, pageSize: 1, concurrency: 1, history: false },
];

/** Marks of columns whose bound goes out of the feed's reach while lineage cannot be scanned. */
const MARKED_OUT_OF_REACH: Step[] = [
  { step: 'happen', happening: { what: 'assetGoes', n: 0, m: 0, how: 0 } },
  { step: 'advance', seconds: 300 },
  { ...PLAIN, pageSize: 3 },
  { step: 'advance', seconds: 300 },
  { step: 'restore', n: 0 },
  { ...PLAIN, pageSize: 3 },
  { step: 'scope', collection: 'column-lineage', as: 'notLive' },
  { ...PLAIN, full: true },
  { step: 'advance', seconds: 90 * DAY },
  { ...PLAIN, full: true },
];

test.each<[string, Step[]]>([
  ['a bound that expires while its request is being prepared is not sent (R3)', OUT_OF_REACH_MEANWHILE],
  ['of two versions on a page the winner stays, even if the stored time was untrusted (R10)', BELIEVED_WITHOUT_DATE],
  [
    'a mark beyond the reach of the feed stays until its edges have been read, even if its column is returned (R18)',
    MARKED_OUT_OF_REACH,
  ],
])('%s', async (_, steps) => {
  const life = live(['e1', 'e2']);
  try {
    await life.take({ ...PLAIN, only: ['assets'] });
    for (const step of steps) await life.take(step);
    openUp(life);
    await life.take(PLAIN);
    expect(life.check()).toEqual([]);
  } finally {
    await life.close();
  }
});
