import fc from 'fast-check';
import { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { LIST_PATHS } from '../support/catalogue.ts';
import { isFeed } from './book.ts';
import { rowsOfWorld } from './compare.ts';
import { happen, happenings, happenLate, populate, type Which } from './happenings.ts';
import { contents, guard } from './invariants.ts';
import type { MakeTwin } from './mirror-twin.ts';
import { type Mirrored, mirrorOf } from './mirrored.ts';
import { mendAll, restoreAsset } from './place.ts';
import { type Serving, serveWorld } from './served.ts';
import {
  lasting,
  overtaken,
  PLAIN,
  restarted,
  restoredSoon,
  type Step,
  type Sync,
  setBack,
  shrunk,
  type Trouble,
  thinned,
  unscannable,
} from './steps.ts';
import type { WireFault } from './wire.ts';
import { brokenOnWire } from './wire-rules.ts';
import { Crash, createWorld, DAY, HOUR, type World } from './world.ts';

const COLLECTIONS = ['environment', ...LIST_PATHS, 'executions', 'assets scope', 'tests scope'];
const PARTS: (readonly CollectionName[])[] = [
  ['assets'],
  ['assets', 'columns'],
  ['columns', 'column_lineage'],
  ['tests', 'latest_test_executions', 'test_executions'],
];
const RECOVERIES: SyncError['recovery'][] = [
  'restart-read',
  'halve-page',
  'forbidden',
  'restart-round',
  'stream',
  'run',
  'quota',
  'token',
];

function troubles(which: Which): fc.Arbitrary<Trouble> {
  const at = fc.integer({ min: 1, max: 25 });
  const changes = fc.record({ do: fc.constant('change' as const), at, happening: happenings(which) });
  const faults = fc.record({ do: fc.constant('fault' as const), at, recovery: fc.constantFrom(...RECOVERIES) });
  const ends = fc.record({
    do: fc.constantFrom(
      'cursors' as const,
      'abort' as const,
      'crash' as const,
      'crashBefore' as const,
      'crashAfter' as const,
    ),
    at,
  });
  const dates = fc.record({
    do: fc.constant('date' as const),
    at: fc.integer({ min: 1, max: 6 }),
    hours: fc.constantFrom(-2000, -30, -2, 2, 48, 960),
  });
  const waits = fc.record({ do: fc.constant('wait' as const), at, days: fc.constantFrom(0.1, 2, 30) });
  return fc.oneof(
    { weight: 1, arbitrary: waits },
    { weight: 1, arbitrary: dates },
    { weight: 4, arbitrary: changes },
    { weight: 2, arbitrary: faults },
    { weight: 3, arbitrary: ends },
  );
}

function syncs(which: Which, wire: fc.Arbitrary<readonly WireFault[]>): fc.Arbitrary<Sync> {
  return fc.record({
    step: fc.constant('sync' as const),
    pageSize: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.constantFrom(100, 2000)),
    concurrency: fc.integer({ min: 1, max: 3 }),
    full: fc.nat({ max: 7 }).map((n) => n === 0),
    history: fc.boolean(),
    only: fc.constantFrom(undefined, undefined, undefined, undefined, ...PARTS),
    maxRequests: fc.option(fc.integer({ min: 2, max: 40 }), { nil: undefined, freq: 3 }),
    allowShrink: which === 'any' ? fc.nat({ max: 3 }).map((n) => n === 0) : fc.constant(false),
    overlapSeconds: fc.constant(PLAIN.overlapSeconds),
    troubles: fc.oneof(fc.constant([]), fc.array(troubles(which), { maxLength: 3 })),
    wire,
  });
}

const NO_FAULTS: fc.Arbitrary<readonly WireFault[]> = fc.constant([]);

/** A world's life: what happens in it, how time goes on, and when it is synced; `wire` is what befalls a run's requests where there is a wire. */
export function histories(which: Which, maxLength = 24, wire = NO_FAULTS): fc.Arbitrary<Step[]> {
  const one: Step[] = [1, 60, HOUR, 5 * HOUR].map((seconds) => ({ step: 'advance', seconds }));
  const long: Step[] = [2, 8, 30, 88, 90, 100].map((days) => ({ step: 'advance', seconds: days * DAY }));
  const step = fc.oneof(
    { weight: 12, arbitrary: happenings(which).map((happening): Step => ({ step: 'happen', happening })) },
    { weight: 2, arbitrary: happenings(which).map((happening): Step => ({ step: 'late', happening })) },
    { weight: 4, arbitrary: fc.constantFrom(...one) },
    { weight: 1, arbitrary: fc.constantFrom(...long) },
    { weight: 1, arbitrary: fc.integer({ min: -30, max: 30 }).map((hours): Step => ({ step: 'clock', hours })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('always', 'later', 'never').map((dates): Step => ({ step: 'dates', dates }) as Step),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('aged', 'ageless', 'none').map((as): Step => ({ step: 'cache', as }) as Step),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        step: fc.constant('scope' as const),
        collection: fc.constantFrom(...COLLECTIONS),
        as: fc.constantFrom('denied' as const, 'notLive' as const, 'open' as const, 'open' as const),
      }),
    },
    { weight: 5, arbitrary: syncs(which, wire) },
  );
  const steps = fc.oneof(
    { weight: 28, arbitrary: step.map((one) => [one]) },
    { weight: 1, arbitrary: overtaken },
    { weight: 1, arbitrary: lasting },
    { weight: 1, arbitrary: restarted },
    { weight: 1, arbitrary: restoredSoon },
    { weight: 1, arbitrary: setBack(happenings(which)) },
    { weight: 1, arbitrary: thinned },
    { weight: 1, arbitrary: unscannable(happenings(which)) },
    { weight: which === 'any' ? 1 : 0, arbitrary: shrunk },
  );
  return fc.array(steps, { minLength: 6, maxLength }).map((parts) => parts.flat());
}

export interface Life {
  readonly world: World;
  readonly mirrored: Mirrored;
  take(step: Step): Promise<{ summary: RunSummary | null; quiet: boolean }>;
  /** What was broken so far. */
  check(): string[];
  close(): Promise<void>;
}

/** A life whose world is met over HTTP, with faults on the wire. */
export async function liveServed(ids: readonly string[], serving: Serving, pair?: MakeTwin): Promise<Life> {
  const life = live(ids, pair);
  const { world, mirrored } = life;
  const served = await serveWorld(world, serving);
  world.source = served.source;
  return {
    ...life,
    async take(step) {
      const { nowMs } = world;
      // A run that waits for quota may last as long as the clock is set back by: from what it says then nobody could tell (R1).
      if (step.step === 'serviceClock') return { summary: null, quiet: true };
      if (step.step !== 'sync') {
        const taken = await life.take(step);
        // By a clock that was set nobody can tell how long ago something was (R23).
        if (step.step === 'clock' || world.nowMs < nowMs) served.forget();
        return taken;
      }
      served.faults = step.wire;
      const stopped = step.troubles.some((trouble) => !['change', 'cursors', 'date', 'wait'].includes(trouble.do));
      const fromMs = world.nowMs;
      const { summary, quiet } = await life.take({
        ...step,
        troubles: step.troubles.filter((t) => t.do !== 'fault' && t.do !== 'wait'),
      });
      const met = served.met();
      // Who is killed leaves no word; who is stopped does not hear what is still on its way (R27).
      if (summary === null || summary.status === 'interrupted' || world.nowMs < nowMs) served.forget();
      const { wire: faults } = step;
      const areDatesWrong = world.cache !== null || step.troubles.some((trouble) => trouble.do === 'date');
      const times = { fromMs, toMs: world.nowMs };
      if (summary !== null)
        world.violations.push(
          ...brokenOnWire({ summary, faults, met, areDatesWrong, retries: serving.retries, ...times }),
        );
      if (met > (step.maxRequests ?? Number.POSITIVE_INFINITY))
        world.violations.push(`${met} requests, though ${step.maxRequests} were allowed`);
      const lost = (summary?.requests ?? 0) - met;
      // What is sent on a connection while the service resets it never arrives: whoever sent it has counted it (R23).
      const mayBeLost = faults.some(({ disturbance }) => disturbance.do === 'reset');
      if (!stopped && lost !== 0 && !(mayBeLost && lost > 0))
        world.violations.push(`${met} requests were met, ${summary?.requests} counted (R23)`);
      return { summary, quiet };
    },
    async close() {
      await served.close();
      mirrored.close();
    },
  };
}

/** A second environment keeps runs going while the first is not listed. */
export function live(ids: readonly string[], pair?: MakeTwin): Life {
  const world = createWorld(ids);
  populate(world.place());
  world.place().lingering = true;
  world.place().repeating = true;
  // PostgreSQL holds no U+0000; many orders of texts ignore a soft hyphen.
  if (pair !== undefined) world.place().twinEnding = '\u00ad';
  const mirrored = mirrorOf(world, HOUR, pair);
  mirrored.isHeavy = () => world.log.length % 3 === 0;
  const guarded = guard(mirrored, world);
  const [before, after] = [mirrored.beforeCommit, mirrored.afterCommit];

  async function sync({ troubles: coming, maxRequests, only, ...options }: Sync) {
    const stopped = new AbortController();
    let [crashed, quiet, commits] = [false, true, 0];
    const own = new Map<CollectionName, number>();
    const crash = (now: boolean): void => {
      crashed ||= now;
      if (crashed) throw new Crash();
    };
    const wrong = coming.filter((each) => each.do === 'date');
    world.dateErrorMs = ({ number }) => HOUR * 1000 * (wrong.find(({ at }) => at === number)?.hours ?? 0);
    world.before = ({ number, query }) => {
      crash(false);
      for (const trouble of coming.filter((each) => each.do !== 'crashIn' && each.at === number)) {
        if (trouble.do === 'change') happen(world, trouble.happening);
        if (trouble.do === 'change') quiet = false;
        // A bound on its way is as old as it is when it arrives.
        if (trouble.do === 'wait' && !isFeed({ query })) world.advance(trouble.days * DAY);
        if (trouble.do === 'cursors') world.epoch += 1;
        if (trouble.do === 'abort') stopped.abort();
        if (trouble.do === 'fault' && number > 1) throw new SyncError(trouble.recovery, `a fault: ${trouble.recovery}`);
        crash(trouble.do === 'crash');
      }
    };
    mirrored.beforeCommit = (told) => {
      commits += 1;
      crash(coming.some((trouble) => trouble.do === 'crashBefore' && trouble.at === commits));
      before(told);
    };
    mirrored.afterCommit = (told) => {
      after(told);
      const ofStream = (own.get(told.stream) ?? 0) + 1;
      own.set(told.stream, ofStream);
      crash(coming.some((each) => each.do === 'crashIn' && each.stream === told.stream && each.at === ofStream));
      crash(coming.some((trouble) => trouble.do === 'crashAfter' && trouble.at === commits));
    };
    const shape = (): string => JSON.stringify(rowsOfWorld(world.place('e1')));
    const shapeBefore = shape();
    const isFirst = mirrored.checkpoint('column_lineage').scanEndedCycle === null;
    const lagged = world.place('e1').edgeLag;
    const run = mirrored.sync({
      ...options,
      signal: stopped.signal,
      ...(maxRequests ? { maxRequests } : {}),
      ...(only ? { only } : {}),
    });
    const summary = await run.catch((error) => {
      if (error instanceof Crash) return null;
      throw error;
    });
    if (isFirst && (lagged || world.place('e1').edgeLag)) world.place('e1').hasLateEdges = true;
    world.before = () => {};
    world.dateErrorMs = () => 0;
    return { summary, quiet: quiet && shape() === shapeBefore };
  }

  /** Columns that the mirror has not seen go are the same to it once they are back: nothing marks their edges (R18). */
  function restore(n: number): void {
    const sql = `select 1 from assets a where env_id = 'e1' and id = ? and deletion = 'tombstone'
      and not exists (select 1 from columns c where c.env_id = a.env_id and c.asset_id = a.id and c.deleted_at is null)`;
    if (mirrored.rows(sql, `a${n}`).length > 0) restoreAsset(world.place('e1'), `a${n}`);
  }

  return {
    world,
    mirrored,
    async take(step) {
      const place = world.place('e1');
      if (step.step === 'sync') return sync(step);
      if (step.step === 'happen') happen(world, step.happening);
      if (step.step === 'restore') restore(step.n);
      if (step.step === 'late') happenLate(world, step.happening);
      if (step.step === 'advance') world.advance(step.seconds);
      if (step.step === 'clock') mirrored.clockSkewMs = step.hours * HOUR * 1000;
      if (step.step === 'serviceClock') world.nowMs += step.minutes * 60_000;
      if (step.step === 'dates') world.dates = step.dates;
      if (step.step === 'cache')
        world.cache = step.as === 'none' ? null : { sinceMs: world.nowMs, tellsAge: step.as === 'aged' };
      if (step.step === 'scope') {
        place.denied.delete(step.collection);
        place.notLive.delete(step.collection);
        if (step.as !== 'open') place[step.as].add(step.collection);
      }
      return { summary: null, quiet: true };
    },
    check: () => guarded.check(),
    close: async () => mirrored.close(),
  };
}

/** Takes away whatever stands in the way, and lets late commits arrive. */
export function openUp({ world }: Life): void {
  world.advance(2 * HOUR);
  const place = world.place('e1');
  world.dates = 'always';
  world.cache = null;
  place.listed = true;
  place.denied.clear();
  place.notLive.clear();
  place.brokenScans.clear();
  place.brokenHistories.clear();
  mendAll(place);
}

export { contents, PLAIN, type Step };
