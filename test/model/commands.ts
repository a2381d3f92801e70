import fc from 'fast-check';
import type { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { Action } from './actions.ts';
import type { WireFault } from './wire-faults.ts';
import { DAY, HOUR, type World } from './world.ts';

/** What befalls a run at its request (or commit) `at`, counted from 1. */
export type RunFault =
  | { readonly type: 'act'; readonly at: number; readonly action: Action }
  | { readonly type: 'error'; readonly at: number; readonly recovery: SyncError['recovery'] }
  | { readonly type: 'expire-cursors' | 'abort' | 'crash'; readonly at: number }
  /** The answer has a `Date` that is wrong by so many hours (R1). */
  | { readonly type: 'wrong-date'; readonly at: number; readonly hours: number }
  /** The run waits so long before its request `at`: for quota, or because it has much to read. */
  | { readonly type: 'delay'; readonly at: number; readonly days: number }
  | { readonly type: 'crash-before-commit' | 'crash-after-commit'; readonly at: number }
  /** After so many commits of one stream. */
  | { readonly type: 'crash-in-stream'; readonly stream: CollectionName; readonly at: number };

export interface SyncCommand {
  readonly type: 'sync';
  readonly pageSize: number;
  readonly concurrency: number;
  readonly full: boolean;
  readonly history: boolean;
  readonly only: readonly CollectionName[] | undefined;
  readonly maxRequests: number | undefined;
  readonly allowShrink: boolean;
  readonly overlapSeconds: number;
  readonly faults: readonly RunFault[];
  /** What befalls its requests on the wire, where there is one. */
  readonly wireFaults: readonly WireFault[];
}

export type Command =
  | SyncCommand
  | { readonly type: 'act' | 'act-late'; readonly action: Action }
  /**
   * What went, with its columns, by a tombstone that the mirror knows of is restored soon: the asset alone is touched,
   * and tells of it all (R13).
   */
  | { readonly type: 'restore'; readonly n: number }
  | { readonly type: 'advance'; readonly seconds: number }
  | { readonly type: 'mirror-clock'; readonly hours: number }
  /** The service's own clock is set. */
  | { readonly type: 'service-clock'; readonly minutes: number }
  | { readonly type: 'dates'; readonly dates: World['dates'] }
  /** From now on a cache answers for the environments, or none does (R1). */
  | { readonly type: 'cache'; readonly as: 'aged' | 'ageless' | 'none' }
  | { readonly type: 'permission'; readonly collection: string; readonly as: 'denied' | 'notLive' | 'open' };

export const PLAIN_SYNC: SyncCommand = {
  wireFaults: [],
  type: 'sync',
  pageSize: 3,
  concurrency: 2,
  full: false,
  history: true,
  only: undefined,
  maxRequests: undefined,
  allowShrink: false,
  overlapSeconds: 3600,
  faults: [],
};

/** What has its stream read several pages, then what marks more for it, by a run of these streams alone. */
const INTERRUPTED = {
  columns: { has: 'column', meets: 'removeAsset', only: ['assets'] },
  tests: { has: 'test', meets: 'removeAsset', only: ['assets'] },
  table_assets: { has: 'asset', meets: 'asset', only: ['assets'] },
  column_lineage: { has: 'columnEdges', meets: 'columnEdges', only: ['assets', 'columns'] },
} as const;

/**
 * A round that is cut off, marks made for it by another run, and the run that goes on with it: later marks stay (R18).
 */
export const interruptedRound: fc.Arbitrary<Command[]> = fc
  .record({
    stream: fc.constantFrom(...(Object.keys(INTERRUPTED) as (keyof typeof INTERRUPTED)[])),
    n: fc.nat({ max: 3 }),
    variant: fc.nat({ max: 3 }),
  })
  .map(({ stream, n, variant }) => {
    const { has, meets, only } = INTERRUPTED[stream];
    const one = (name: Action['name'], nth: number, variant: number): Command => ({
      type: 'act',
      action: { name, n: nth % 4, m: 0, variant },
    });
    const slow: SyncCommand = { ...PLAIN_SYNC, pageSize: 1, concurrency: 1, history: false };
    return [
      ...[n, n + 1, n + 2].map((nth) => one(has, nth, variant)),
      { ...slow, faults: [{ type: 'crash-in-stream', stream, at: 1 }] },
      one(meets, n, meets === 'removeAsset' ? 1 : 3),
      { ...slow, only },
      slow,
    ];
  });

/** An asset goes, a run sees it go, and it is there again before its tombstone is older than the overlap (R13). */
export const restoredAsset: fc.Arbitrary<Command[]> = fc
  .nat({ max: 3 })
  .map((n) => [
    { type: 'act', action: { name: 'removeAsset', n, m: 0, variant: 0 } },
    { type: 'advance', seconds: 300 },
    PLAIN_SYNC,
    { type: 'advance', seconds: 300 },
    { type: 'restore', n },
    PLAIN_SYNC,
  ]);

/**
 * A clock that was ahead for one run, by less than an hour, is set right; what happens then lies before the watermark
 * (R1).
 */
export function clockSetBack(action: fc.Arbitrary<Action>): fc.Arbitrary<Command[]> {
  return fc.record({ minutes: fc.constantFrom(2, 20, 50), action }).map(({ minutes, action }) => {
    const close: SyncCommand = { ...PLAIN_SYNC, overlapSeconds: 60 };
    return [
      { type: 'advance', seconds: 2 * HOUR },
      PLAIN_SYNC,
      { type: 'service-clock', minutes },
      close,
      { type: 'service-clock', minutes: -minutes },
      { type: 'act', action },
      close,
    ];
  });
}

/**
 * Lists whose scans cannot end for a while in which one falls due or is asked for; what happens meanwhile is told of
 * (R9).
 */
export function failingScans(action: fc.Arbitrary<Action>): fc.Arbitrary<Command[]> {
  const happen = action.map((one): Command => ({ type: 'act', action: one }));
  const breaks = fc
    .nat({ max: 2 })
    .map((n): Command => ({ type: 'act', action: { name: 'breakScan', n, m: 0, variant: 0 } }));
  const due = fc.constantFrom<Command>(
    { type: 'advance', seconds: 8 * DAY },
    { ...PLAIN_SYNC, full: true, pageSize: 2 },
  );
  const sync = fc
    .record({ full: fc.boolean(), pageSize: fc.integer({ min: 1, max: 3 }) })
    .map((wish): Command => ({ ...PLAIN_SYNC, ...wish }));
  const goesOn = fc.tuple(fc.array(happen, { minLength: 1, maxLength: 4 }), sync).map((parts) => parts.flat());
  return fc
    .tuple(breaks, due, fc.array(goesOn, { minLength: 1, maxLength: 3 }))
    .map(([broken, dueBy, after]) => [broken, dueBy, ...after.flat()]);
}

/**
 * A run that lasts for days, after a pause so long that bounds which it could send as it began may lie out of reach
 * later (R3).
 */
export const longRun: fc.Arbitrary<Command[]> = fc
  .record({
    pauseDays: fc.integer({ min: 55, max: 88 }),
    pageSize: fc.integer({ min: 1, max: 3 }),
    waits: fc.array(
      fc.record({
        type: fc.constant('delay' as const),
        at: fc.integer({ min: 2, max: 20 }),
        days: fc.constantFrom(0.1, 2, 30),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ pauseDays, pageSize, waits }) => [
    { type: 'advance', seconds: pauseDays * DAY },
    { ...PLAIN_SYNC, pageSize, faults: waits },
  ]);

/** Snapshots whose cursors die just after something they have shown has gone (R7). */
export const restartedSnapshot: fc.Arbitrary<Command[]> = fc.integer({ min: 3, max: 8 }).map((at) => {
  const gone: Action[] = [
    { name: 'removeAssetEdge', n: 0, m: 1, variant: 0 },
    { name: 'removeTest', n: 0, m: 0, variant: 0 },
  ];
  const changes = gone.map((action) => ({ type: 'act' as const, at, action }));
  const only = ['asset_lineage', 'latest_test_executions'] as const;
  return [{ ...PLAIN_SYNC, only, pageSize: 1, concurrency: 1, faults: [...changes, { type: 'expire-cursors', at }] }];
});

/** Many columns lose their last edges at once, but most edges stay: no removal is held back (R14). */
export const manyEdgesRemoved: fc.Arbitrary<Command[]> = fc.nat({ max: 3 }).map((n) => {
  const one = (name: Action['name'], nth: number, variant: number): Command => ({
    type: 'act',
    action: { name, n: nth % 4, m: 0, variant },
  });
  const read: SyncCommand = { ...PLAIN_SYNC, pageSize: 100 };
  const crowds = [n, n + 1].flatMap((nth) => [one('addManyColumns', nth, 0), one('linkManyColumns', nth, 0)]);
  // The first run may only carry on the cycle of a stopped run.
  const linked = [one('lagEdges', n, 0), ...crowds, read, read];
  return [...linked, one('unlinkManyColumns', n, 0), read, { type: 'advance', seconds: 2 * HOUR }, read];
});

/**
 * More than half of the columns, and fifty, go without a word; the next scan holds them back, and one after it may let
 * them go (R14).
 */
export const heldRemovals: fc.Arbitrary<Command[]> = fc
  .record({ n: fc.nat({ max: 3 }), back: fc.boolean(), allowShrink: fc.boolean() })
  .map(({ n, back, allowShrink }) => {
    const one = (name: Action['name']): Command => ({ type: 'act', action: { name, n, m: 0, variant: 0 } });
    const read: SyncCommand = { ...PLAIN_SYNC, only: ['assets', 'columns'], pageSize: 50 };
    const again = back ? [one('addManyColumns')] : [];
    return [
      one('addManyColumns'),
      read,
      one('loseManyColumns'),
      { ...read, full: true },
      ...again,
      { ...read, allowShrink },
    ];
  });
