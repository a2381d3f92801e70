import fc from 'fast-check';
import type { Action } from './actions.ts';
import { type Command, PLAIN_SYNC, type SyncCommand } from './commands.ts';
import { DAY, HOUR } from './world.ts';

/** By stream: the action that gives it several pages, then an action that adds marks and the streams that mirror it. */
const INTERRUPTED = {
  columns: { fill: 'column', mark: 'removeAsset', only: ['assets'] },
  tests: { fill: 'test', mark: 'removeAsset', only: ['assets'] },
  table_assets: { fill: 'asset', mark: 'asset', only: ['assets'] },
  column_lineage: { fill: 'columnEdges', mark: 'columnEdges', only: ['assets', 'columns'] },
} as const;

/** A round is interrupted, another run adds marks, a third run resumes the round: the later marks stay (R18). */
export const interruptedRound: fc.Arbitrary<Command[]> = fc
  .record({
    stream: fc.constantFrom(...(Object.keys(INTERRUPTED) as (keyof typeof INTERRUPTED)[])),
    n: fc.nat({ max: 3 }),
    variant: fc.nat({ max: 3 }),
  })
  .map(({ stream, n, variant }) => {
    const { fill, mark, only } = INTERRUPTED[stream];
    const act = (name: Action['name'], nth: number, variant: number): Command => ({
      type: 'act',
      action: { name, n: nth % 4, m: 0, variant },
    });
    const slow: SyncCommand = { ...PLAIN_SYNC, pageSize: 1, concurrency: 1, history: false };
    return [
      ...[n, n + 1, n + 2].map((nth) => act(fill, nth, variant)),
      { ...slow, faults: [{ type: 'crash-in-stream', stream, at: 1 }] },
      act(mark, n, mark === 'removeAsset' ? 1 : 3),
      { ...slow, only },
      slow,
    ];
  });

/** An asset is deleted, the deletion is mirrored, and the asset is restored within the overlap (R13). */
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

/** The clock is up to an hour fast during one run, then corrected: the next change lies before the watermark (R1). */
export function clockSetBack(action: fc.Arbitrary<Action>): fc.Arbitrary<Command[]> {
  return fc.record({ minutes: fc.constantFrom(2, 20, 50), action }).map(({ minutes, action }) => {
    const close: SyncCommand = { ...PLAIN_SYNC, overlapSeconds: 60 };
    // The first run may only finish the cycle of a stopped run, whose watermarks are older than late commits.
    return [
      { type: 'advance', seconds: 2 * HOUR },
      PLAIN_SYNC,
      PLAIN_SYNC,
      { type: 'service-clock', minutes },
      close,
      { type: 'service-clock', minutes: -minutes },
      { type: 'act', action },
      close,
    ];
  });
}

/** A scan is due, or requested, while its list keeps failing. The feeds still report changes in the meantime (R9). */
export function failingScans(action: fc.Arbitrary<Action>): fc.Arbitrary<Command[]> {
  const act = action.map((drawn): Command => ({ type: 'act', action: drawn }));
  const breaks = fc
    .nat({ max: 2 })
    .map((n): Command => ({ type: 'act', action: { name: 'breakScan', n, m: 0, variant: 0 } }));
  const due = fc.constantFrom<Command>(
    { type: 'advance', seconds: 8 * DAY },
    { ...PLAIN_SYNC, full: true, pageSize: 2 },
  );
  const sync = fc
    .record({ full: fc.boolean(), pageSize: fc.integer({ min: 1, max: 3 }) })
    .map((options): Command => ({ ...PLAIN_SYNC, ...options }));
  const changeAndSync = fc.tuple(fc.array(act, { minLength: 1, maxLength: 4 }), sync).map((parts) => parts.flat());
  return fc
    .tuple(breaks, due, fc.array(changeAndSync, { minLength: 1, maxLength: 3 }))
    .map(([broken, dueBy, after]) => [broken, dueBy, ...after.flat()]);
}

/** A run lasts for days after a long pause, so bounds that were valid when it began may expire before use (R3). */
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

/** A history that takes several runs, while its bound or its cursor may expire between them (R6, R22). */
export const longHistory: fc.Arbitrary<Command[]> = fc
  .record({
    n: fc.nat({ max: 3 }),
    maxRequests: fc.integer({ min: 3, max: 6 }),
    pageSize: fc.integer({ min: 1, max: 2 }),
    hours: fc.constantFrom(0, 2, 5, 30, 500, 1500),
    expires: fc.boolean(),
  })
  .map(({ n, maxRequests, pageSize, hours, expires }) => {
    const executions = Array.from({ length: 8 }, (_, m): Command[] => [
      { type: 'act', action: { name: 'execution', n, m: m % 4, variant: m % 4 } },
      { type: 'advance', seconds: 5 * HOUR },
    ]);
    const faults = expires ? [{ type: 'expire-cursors' as const, at: 1 }] : [];
    const part: SyncCommand = { ...PLAIN_SYNC, only: ['test_executions'], maxRequests, pageSize, faults };
    const waiting: Command = { type: 'advance', seconds: hours * HOUR };
    const parts = Array.from({ length: 4 }, (): Command[] => [part, waiting]);
    return [...executions.flat(), { ...PLAIN_SYNC, only: ['tests', 'latest_test_executions'] }, ...parts.flat()];
  });

/** Snapshots whose cursors expire right after a row that they returned was deleted (R7). */
export const restartedSnapshot: fc.Arbitrary<Command[]> = fc.integer({ min: 3, max: 8 }).map((at) => {
  const gone: Action[] = [
    { name: 'removeAssetEdge', n: 0, m: 1, variant: 0 },
    { name: 'removeTest', n: 0, m: 0, variant: 0 },
  ];
  const changes = gone.map((action) => ({ type: 'act' as const, at, action }));
  const only = ['asset_lineage', 'latest_test_executions'] as const;
  return [{ ...PLAIN_SYNC, only, pageSize: 1, concurrency: 1, faults: [...changes, { type: 'expire-cursors', at }] }];
});

/** Many columns lose their last edges at once, but most edges remain: no removal is held back (R14). */
export const manyEdgesRemoved: fc.Arbitrary<Command[]> = fc.nat({ max: 3 }).map((n) => {
  const act = (name: Action['name'], nth: number, variant: number): Command => ({
    type: 'act',
    action: { name, n: nth % 4, m: 0, variant },
  });
  const sync: SyncCommand = { ...PLAIN_SYNC, pageSize: 100 };
  const columns = [n, n + 1].flatMap((nth) => [act('addManyColumns', nth, 0), act('linkManyColumns', nth, 0)]);
  // The first run may only finish the cycle of a stopped run.
  const linked = [act('lagEdges', n, 0), ...columns, sync, sync];
  return [...linked, act('unlinkManyColumns', n, 0), sync, { type: 'advance', seconds: 2 * HOUR }, sync];
});

/**
 * At least 50 columns, and more than half, vanish without tombstones. The next scan holds their removals back; a later
 * run may apply them (R14).
 */
export const heldRemovals: fc.Arbitrary<Command[]> = fc
  .record({ n: fc.nat({ max: 3 }), returns: fc.boolean(), allowShrink: fc.boolean() })
  .map(({ n, returns, allowShrink }) => {
    const act = (name: Action['name']): Command => ({ type: 'act', action: { name, n, m: 0, variant: 0 } });
    const sync: SyncCommand = { ...PLAIN_SYNC, only: ['assets', 'columns'], pageSize: 50 };
    const again = returns ? [act('addManyColumns')] : [];
    return [
      act('addManyColumns'),
      sync,
      act('loseManyColumns'),
      { ...sync, full: true },
      ...again,
      { ...sync, allowShrink },
    ];
  });
