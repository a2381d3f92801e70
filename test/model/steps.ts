import fc from 'fast-check';
import type { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { Happening } from './happenings.ts';
import type { WireFault } from './wire.ts';
import { DAY, HOUR, type World } from './world.ts';

/** What befalls a run at its request (or commit) `at`, counted from 1. */
export type Trouble =
  | { readonly do: 'change'; readonly at: number; readonly happening: Happening }
  | { readonly do: 'fault'; readonly at: number; readonly recovery: SyncError['recovery'] }
  | { readonly do: 'cursors' | 'abort' | 'crash'; readonly at: number }
  /** The answer has a `Date` that is wrong by so many hours (R1). */
  | { readonly do: 'date'; readonly at: number; readonly hours: number }
  /** The run waits so long before its request `at`: for quota, or because it has much to read. */
  | { readonly do: 'wait'; readonly at: number; readonly days: number }
  | { readonly do: 'crashBefore' | 'crashAfter'; readonly at: number }
  /** After so many commits of one stream. */
  | { readonly do: 'crashIn'; readonly stream: CollectionName; readonly at: number };

export interface Sync {
  readonly step: 'sync';
  readonly pageSize: number;
  readonly concurrency: number;
  readonly full: boolean;
  readonly history: boolean;
  readonly only: readonly CollectionName[] | undefined;
  readonly maxRequests: number | undefined;
  readonly allowShrink: boolean;
  readonly overlapSeconds: number;
  readonly troubles: readonly Trouble[];
  /** What befalls its requests on the wire, where there is one. */
  readonly wire: readonly WireFault[];
}

export type Step =
  | Sync
  | { readonly step: 'happen' | 'late'; readonly happening: Happening }
  /**
   * What went, with its columns, by a tombstone that the mirror knows of is restored soon: the asset alone is touched,
   * and tells of it all (R13).
   */
  | { readonly step: 'restore'; readonly n: number }
  | { readonly step: 'advance'; readonly seconds: number }
  | { readonly step: 'clock'; readonly hours: number }
  /** The service's own clock is set. */
  | { readonly step: 'serviceClock'; readonly minutes: number }
  | { readonly step: 'dates'; readonly dates: World['dates'] }
  /** From now on a cache answers for the environments, or none does (R1). */
  | { readonly step: 'cache'; readonly as: 'aged' | 'ageless' | 'none' }
  | { readonly step: 'scope'; readonly collection: string; readonly as: 'denied' | 'notLive' | 'open' };

export const PLAIN: Sync = {
  wire: [],
  step: 'sync',
  pageSize: 3,
  concurrency: 2,
  full: false,
  history: true,
  only: undefined,
  maxRequests: undefined,
  allowShrink: false,
  overlapSeconds: 3600,
  troubles: [],
};

/** What has its stream read several pages, then what marks more for it, by a run of these streams alone. */
const OVERTAKEN = {
  columns: { has: 'column', meets: 'assetGoes', only: ['assets'] },
  tests: { has: 'test', meets: 'assetGoes', only: ['assets'] },
  table_assets: { has: 'asset', meets: 'asset', only: ['assets'] },
  column_lineage: { has: 'columnEdges', meets: 'columnEdges', only: ['assets', 'columns'] },
} as const;

/**
 * A round that is cut off, marks made for it by another run, and the run that goes on with it: later marks stay (R18).
 */
export const overtaken: fc.Arbitrary<Step[]> = fc
  .record({
    stream: fc.constantFrom(...(Object.keys(OVERTAKEN) as (keyof typeof OVERTAKEN)[])),
    n: fc.nat({ max: 3 }),
    how: fc.nat({ max: 3 }),
  })
  .map(({ stream, n, how }) => {
    const { has, meets, only } = OVERTAKEN[stream];
    const one = (what: Happening['what'], nth: number, way: number): Step => ({
      step: 'happen',
      happening: { what, n: nth % 4, m: 0, how: way },
    });
    const slow: Sync = { ...PLAIN, pageSize: 1, concurrency: 1, history: false };
    return [
      ...[n, n + 1, n + 2].map((nth) => one(has, nth, how)),
      { ...slow, troubles: [{ do: 'crashIn', stream, at: 1 }] },
      one(meets, n, meets === 'assetGoes' ? 1 : 3),
      { ...slow, only },
      slow,
    ];
  });

/** An asset goes, a run sees it go, and it is there again before its tombstone is older than the overlap (R13). */
export const restoredSoon: fc.Arbitrary<Step[]> = fc
  .nat({ max: 3 })
  .map((n) => [
    { step: 'happen', happening: { what: 'assetGoes', n, m: 0, how: 0 } },
    { step: 'advance', seconds: 300 },
    PLAIN,
    { step: 'advance', seconds: 300 },
    { step: 'restore', n },
    PLAIN,
  ]);

/**
 * A clock that was ahead for one run, by less than an hour, is set right; what happens then lies before the watermark
 * (R1).
 */
export function setBack(happening: fc.Arbitrary<Happening>): fc.Arbitrary<Step[]> {
  return fc.record({ minutes: fc.constantFrom(2, 20, 50), happening }).map(({ minutes, happening }) => {
    const close: Sync = { ...PLAIN, overlapSeconds: 60 };
    return [
      { step: 'advance', seconds: 2 * HOUR },
      PLAIN,
      { step: 'serviceClock', minutes },
      close,
      { step: 'serviceClock', minutes: -minutes },
      { step: 'happen', happening },
      close,
    ];
  });
}

/**
 * Lists whose scans cannot end for a while in which one falls due or is asked for; what happens meanwhile is told of
 * (R9).
 */
export function unscannable(happening: fc.Arbitrary<Happening>): fc.Arbitrary<Step[]> {
  const happen = happening.map((one): Step => ({ step: 'happen', happening: one }));
  const breaks = fc
    .nat({ max: 2 })
    .map((n): Step => ({ step: 'happen', happening: { what: 'scanBreaks', n, m: 0, how: 0 } }));
  const due = fc.constantFrom<Step>({ step: 'advance', seconds: 8 * DAY }, { ...PLAIN, full: true, pageSize: 2 });
  const sync = fc
    .record({ full: fc.boolean(), pageSize: fc.integer({ min: 1, max: 3 }) })
    .map((wish): Step => ({ ...PLAIN, ...wish }));
  const goesOn = fc.tuple(fc.array(happen, { minLength: 1, maxLength: 4 }), sync).map((parts) => parts.flat());
  return fc
    .tuple(breaks, due, fc.array(goesOn, { minLength: 1, maxLength: 3 }))
    .map(([broken, dueBy, after]) => [broken, dueBy, ...after.flat()]);
}

/**
 * A run that lasts for days, after a pause so long that bounds which it could send as it began may lie out of reach
 * later (R3).
 */
export const lasting: fc.Arbitrary<Step[]> = fc
  .record({
    pauseDays: fc.integer({ min: 55, max: 88 }),
    pageSize: fc.integer({ min: 1, max: 3 }),
    waits: fc.array(
      fc.record({
        do: fc.constant('wait' as const),
        at: fc.integer({ min: 2, max: 20 }),
        days: fc.constantFrom(0.1, 2, 30),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ pauseDays, pageSize, waits }) => [
    { step: 'advance', seconds: pauseDays * DAY },
    { ...PLAIN, pageSize, troubles: waits },
  ]);

/** Snapshots whose cursors die just after something they have shown has gone (R7). */
export const restarted: fc.Arbitrary<Step[]> = fc.integer({ min: 3, max: 8 }).map((at) => {
  const gone: Happening[] = [
    { what: 'noAssetEdge', n: 0, m: 1, how: 0 },
    { what: 'testGoes', n: 0, m: 0, how: 0 },
  ];
  const changes = gone.map((happening) => ({ do: 'change' as const, at, happening }));
  const only = ['asset_lineage', 'latest_test_executions'] as const;
  return [{ ...PLAIN, only, pageSize: 1, concurrency: 1, troubles: [...changes, { do: 'cursors', at }] }];
});

/** Many columns lose their last edges at once, but most edges stay: no removal is held back (R14). */
export const thinned: fc.Arbitrary<Step[]> = fc.nat({ max: 3 }).map((n) => {
  const one = (what: Happening['what'], nth: number, how: number): Step => ({
    step: 'happen',
    happening: { what, n: nth % 4, m: 0, how },
  });
  const read: Sync = { ...PLAIN, pageSize: 100 };
  const crowds = [n, n + 1].flatMap((nth) => [one('crowd', nth, 0), one('crowdLinked', nth, 0)]);
  // The first run may only carry on the cycle of a stopped run.
  const linked = [one('edgesLag', n, 0), ...crowds, read, read];
  return [...linked, one('crowdUnlinked', n, 0), read, { step: 'advance', seconds: 2 * HOUR }, read];
});

/**
 * More than half of the columns, and fifty, go without a word; the next scan holds them back, and one after it may let
 * them go (R14).
 */
export const shrunk: fc.Arbitrary<Step[]> = fc
  .record({ n: fc.nat({ max: 3 }), back: fc.boolean(), allowShrink: fc.boolean() })
  .map(({ n, back, allowShrink }) => {
    const one = (what: Happening['what']): Step => ({ step: 'happen', happening: { what, n, m: 0, how: 0 } });
    const read: Sync = { ...PLAIN, only: ['assets', 'columns'], pageSize: 50 };
    const again = back ? [one('crowd')] : [];
    return [one('crowd'), read, one('crowdLost'), { ...read, full: true }, ...again, { ...read, allowShrink }];
  });
