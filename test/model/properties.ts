import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { addSeconds } from '../../src/core/time/instant.ts';
import { type CollectionName, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { LEAST_REQUESTS } from '../support/catalogue.ts';
import { bothSides, missingExecutions, unreadHistories } from './compare.ts';
import { populate } from './happenings.ts';
import { contents, histories, type Life, live, liveServed, openUp, PLAIN, type Step } from './history.ts';
import { fullIsFull } from './invariants/cycles.ts';
import type { MakeTwin } from './mirror-twin.ts';
import type { Serving } from './served.ts';
import { type Scarcity, scarcities, starve } from './starving.ts';
import type { Sync } from './steps.ts';
import { quotas, wireFaults } from './wire.ts';
import { DAY, HOUR } from './world.ts';

/** What has to hold of every history, and how many of a hundred are drawn for it. */
export interface Property {
  readonly id: 'told' | 'sight' | 'any' | 'wire' | 'scarce';
  readonly says: string;
  readonly share: number;
  readonly property: fc.IAsyncPropertyWithHooks<never>;
}

const servings: fc.Arbitrary<Serving> = fc.record({
  quota: quotas,
  retries: fc.integer({ min: 0, max: 5 }),
  seed: fc.integer({ min: 1, max: 2_000_000_000 }),
});

const someFaults = fc.oneof(fc.constant([]), wireFaults);

/** `pair` gives each mirror its twin. */
export function propertiesOf(pair?: MakeTwin): readonly Property[] {
  const told = fc.asyncProperty(histories('told'), (steps) => inLife(live(['e1'], pair), steps, followed, toTheEnd));
  const whatever = fc.asyncProperty(histories('any'), (steps) =>
    inLife(live(['e1', 'e2'], pair), steps, survived, (life) => madeTrue(life)),
  );
  const sight = fc.asyncProperty(histories('sight'), (steps) =>
    inLife(live(['e1'], pair), steps, survived, (life) => inSightAgain(life)),
  );
  const wire = fc.asyncProperty(servings, histories('told', 12, someFaults), async (serving, steps) =>
    inLife(await liveServed(['e1'], serving, pair), steps, followed, toTheEnd),
  );
  const scarce = fc.asyncProperty(scarcities, (scarcity) => starved(live(['e1', 'e2'], pair), scarcity));
  return [
    {
      id: 'told',
      says: 'every change that the service reports is mirrored by the next successful run',
      share: 44,
      property: told as never,
    },
    {
      id: 'sight',
      says: 'whatever was hidden from the token for a while is mirrored by the weekly scans (R13, R18)',
      share: 10,
      property: sight as never,
    },
    {
      id: 'any',
      says: 'a full scan makes the mirror accurate again, whatever happened before',
      share: 21,
      property: whatever as never,
    },
    {
      id: 'wire',
      says: 'everything is mirrored within the quota, whatever faults occur on the wire (R23, R24)',
      share: 15,
      property: wire as never,
    },
    {
      id: 'scarce',
      says: 'a list that always fails starves no other, however few requests a run has (R6)',
      share: 10,
      property: scarce as never,
    },
  ];
}

export const PROPERTIES: readonly Property[] = propertiesOf();

async function madeTrue(life: Life): Promise<void> {
  await settleDown(life, { ...PLAIN, allowShrink: true });
  const { summary } = await life.take({ ...PLAIN, full: true, allowShrink: true });
  intact(life);
  strictEqual(summary?.status, 'done');
  compare(life, { full: true });
  await idle(life);
  await turned(life);
  intact(life);
}

/** Once everything is in sight again, the weekly scans make it good, with no scan of lineage or typed assets among them. */
async function inSightAgain(life: Life): Promise<void> {
  for (const place of life.world.places.values()) place.hidden.clear();
  // One that is under way has passed by what was out of its sight.
  if (hasScanUnderWay(life)) await settleDown(life);
  life.world.advance(8 * DAY);
  await settleDown(life);
  compare(life);
  await idle(life);
  intact(life);
}

/** One list of an environment never answers, and runs have few requests: the other environment is mirrored all the same (R6, R9). */
async function starved(life: Life, scarcity: Scarcity): Promise<void> {
  try {
    populate(life.world.place('e2'));
    await starve(life, scarcity);
    intact(life);
    compare(life, { places: ['e2'] });
    await life.mirrored.equalsTwin();
  } finally {
    await life.close();
  }
}

async function inLife(
  life: Life,
  steps: readonly Step[],
  each: (life: Life, step: Step) => Promise<void>,
  end: (life: Life) => Promise<void>,
): Promise<void> {
  try {
    // An asset that was never mirrored cannot be missed: what it owns would be lost without a word.
    await life.take({ ...PLAIN, only: ['assets'] });
    for (const step of steps) await each(life, step);
    await end(life);
    await life.mirrored.equalsTwin();
  } finally {
    await life.close();
  }
}

/** After a run that ends well, and that nothing has happened in, the mirror is true. */
async function followed(life: Life, step: Step): Promise<void> {
  const { summary, quiet } = await life.take(step);
  if (step.step !== 'sync') return;
  intact(life);
  if (step.full && summary !== null) deepStrictEqual(fullIsFull(life.mirrored, summary), []);
  if (quiet && summary !== null && hasOnlyBrokenHistories(life, step, summary))
    deepStrictEqual(unreadHistories(life.mirrored, life.world.place('e1')), []);
  if (quiet && summary !== null && !isOwing(life) && hasOnlyScansSetAside(life, step, summary))
    compare(life, { withHistory: false });
  const isGreen =
    summary?.status === 'done' &&
    summary.run === summary.cycle &&
    !summary.streams.some(({ status }) => status === 'unavailable');
  if (quiet && isGreen && !isOwing(life) && step.only === undefined && life.world.dates !== 'never')
    compare(life, { withHistory: step.history });
}

/** Every stream has come to its end but the histories, of which some cannot be read: they bar no other (R22). */
function hasOnlyBrokenHistories(
  { world }: Life,
  { history, only, troubles, wire, pageSize }: Sync,
  summary: RunSummary,
): boolean {
  const isLight = world.place('e1').heavy.size === 0 || pageSize <= LEAST_ROWS;
  const isUntroubled =
    isLight && troubles.length === 0 && wire.length === 0 && only === undefined && world.dates !== 'never';
  const ended = summary.streams.every(({ stream, status }) => status === 'done' || stream === 'test_executions');
  const histories = summary.streams.find(({ stream }) => stream === 'test_executions');
  return history && isUntroubled && ended && summary.run === summary.cycle && histories?.status === 'failed';
}

function hasScanUnderWay({ mirrored }: Life): boolean {
  const checkpoints = STREAM_NAMES.map((stream) => mirrored.checkpoint(stream));
  return checkpoints.some(({ round, waitingScan }) => (waitingScan ?? round)?.mode === 'scan');
}

/** What a run could not settle it leaves to a later one, as its mark says, or to the next scan (R13, R18). */
function isOwing({ mirrored, world }: Life): boolean {
  if (world.place('e1').hasLateEdges) return true;
  return hasLeftMarks({ mirrored });
}

function hasLeftMarks({ mirrored }: Pick<Life, 'mirrored'>): boolean {
  return mirrored.rows('select 1 from marks where left_by_run is not null').length > 0;
}

/** Nothing befalls the run, it is of all streams, and no list is closed to it or answers small pages alone. */
function isUntroubled({ world }: Life, { only, troubles, wire, pageSize }: Sync): boolean {
  const { denied, notLive, heavy } = world.place('e1');
  const isOpen = denied.size + notLive.size === 0 && (heavy.size === 0 || pageSize <= LEAST_ROWS);
  return isOpen && troubles.length === 0 && wire.length === 0 && only === undefined;
}

/** No list is so heavy that it answers no page of so many rows. */
const LEAST_ROWS = 50;

/** Every stream has come to its end but for scans that cannot: what is told of is mirrored by the feeds (R9). */
function hasOnlyScansSetAside(life: Life, step: Sync, summary: RunSummary): boolean {
  const { world, mirrored } = life;
  const set = summary.streams
    .filter(({ status }) => status !== 'done')
    .map(({ stream }) => mirrored.checkpoint(stream as CollectionName));
  const isFed = set.every(({ waitingScan, round, watermark }) => {
    const scan = waitingScan ?? round;
    // What lies beyond the reach of the feeds only the scan shows (R3).
    const isDue = scan?.mode === 'scan' && ['full', 'full-every'].includes(scan.reason) && scan.due !== 'clamp';
    return isDue && isBelieved(watermark, step, summary);
  });
  const isEnded = set.length > 0 && summary.status === 'problems' && summary.run === summary.cycle;
  // What stands rejected the mirror does not hold as it is shown (R20).
  const isAccepted = summary.streams.every((stream) => stream.rejected_standing === 0);
  return isUntroubled(life, step) && world.dates === 'always' && isFed && isEnded && isAccepted;
}

/** A watermark that lies ahead of the run's time bounds no feed (R1). */
function isBelieved(watermark: string | null, { overlapSeconds }: Sync, { server_time }: RunSummary): boolean {
  if (watermark === null || server_time === null) return false;
  return watermark <= addSeconds(server_time, Math.min(HOUR, overlapSeconds));
}

async function survived(life: Life, step: Step): Promise<void> {
  const { summary } = await life.take(step);
  if (step.step !== 'sync') return;
  intact(life);
  if (step.full && summary !== null) deepStrictEqual(fullIsFull(life.mirrored, summary), []);
}

async function toTheEnd(life: Life): Promise<void> {
  await settleDown(life);
  if (life.world.place('e1').hasLateEdges) {
    life.world.advance(8 * DAY);
    await settleDown(life);
  }
  compare(life);
  await idle(life);
  intact(life);
}

function intact(life: Life): void {
  deepStrictEqual(life.check(), []);
}

/** The mirror against the world; scores only after `full`, they are read once an hour (R22). */
function compare(
  { world, mirrored }: Life,
  { full = false, withHistory = true, places = [...world.places.keys()] } = {},
): void {
  for (const place of world.places.values()) {
    if (!place.listed || !places.includes(place.id)) continue;
    const { mirror, world: wanted } = bothSides(mirrored, place) as Record<string, Record<string, unknown>>;
    if (!full)
      for (const side of [mirror, wanted])
        for (const table of ['asset_health_scores', 'asset_health_score_dimensions']) delete side?.[table];
    deepStrictEqual(mirror, wanted);
    if (place.id === 'e1' && withHistory) deepStrictEqual(missingExecutions(mirrored, place), []);
  }
}

/** Nothing has happened: no row is written and no request sent that could be spared (R21, R22). */
async function idle(life: Life): Promise<void> {
  const before = contents(life.mirrored);
  const { summary } = await life.take({ ...PLAIN, pageSize: 2000 });
  strictEqual(summary?.status, 'done');
  strictEqual(contents(life.mirrored), before);
  const asked = life.mirrored.asked().map(({ path }) => path);
  const wanted = [...life.world.places.keys()].flatMap((id) => LEAST_REQUESTS.map((path) => `${id}/${path}`));
  deepStrictEqual(asked.filter((path) => !path.endsWith('health-scores')).sort(), wanted);
}

/** Members in another order are no change, whoever shows them (R21). Scores go by the clock. */
async function turned(life: Life): Promise<void> {
  for (const place of life.world.places.values()) place.turned = !place.turned;
  const before = contents(life.mirrored);
  await life.take({ ...PLAIN, full: true, only: STREAM_NAMES.filter((name) => name !== 'asset_health_scores') });
  strictEqual(contents(life.mirrored), before);
}

/** Whatever limit failed before, lists that answer only small pages are read in a few runs (R24). */
async function getOverHeavy(life: Life, plain: Sync): Promise<void> {
  const { heavy } = life.world.place('e1');
  // What stays rejected, such as a row out of sight, is no list that was not read (R20).
  let isRead = heavy.size === 0;
  for (let run = 0; run < RUNS_TO_SMALL_PAGES && !isRead; run++) {
    const { summary } = await life.take({ ...plain, pageSize: 2000 });
    isRead = summary?.streams.every(({ error }) => !error) ?? false;
  }
  strictEqual(isRead, true);
  heavy.clear();
}

/** From 2000 rows to 50, two halvings a run, with one run more for a cycle that was stopped. */
const RUNS_TO_SMALL_PAGES = 8;

/** Most of what the mirror knew may have gone unseen. The guard holds it back, rightly as an invariant says; the user lets it go (R14). */
async function letGo(life: Life, summary: RunSummary | null): Promise<RunSummary | null> {
  const held = life.mirrored.rows('select 1 from held_removals').length;
  return held === 0 ? summary : (await life.take({ ...PLAIN, allowShrink: true })).summary;
}

/** A run that ends well; one that only went on with the pass of a stopped run is followed by another. */
async function settleDown(life: Life, plain = PLAIN): Promise<void> {
  openUp(life);
  await getOverHeavy(life, plain);
  let { summary } = await life.take(plain);
  summary = await letGo(life, summary);
  if (summary?.run !== summary?.cycle) summary = (await life.take(plain)).summary;
  // Within the overlap a tombstone may stand against what is shown (R10).
  if (hasLeftMarks(life)) life.world.advance(2 * HOUR);
  if (hasLeftMarks(life)) summary = (await life.take(plain)).summary;
  intact(life);
  deepStrictEqual(
    summary?.streams.filter(({ error }) => error),
    [],
  );
  // A rejected row that went without a word stands until a scan (R20).
  const stands = plain.allowShrink && summary?.streams.some((stream) => stream.rejected_standing > 0);
  strictEqual(summary?.status, stands ? 'problems' : 'done');
}
