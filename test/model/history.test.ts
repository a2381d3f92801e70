import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bothSides } from './compare.ts';
import { contents, histories, type Life, live, openUp, PLAIN, type Step } from './history.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 80);
const LONG = { timeout: 1_000_000 };

async function inLife(
  ids: readonly string[],
  steps: readonly Step[],
  each: (life: Life, step: Step) => Promise<void>,
  end: (life: Life) => Promise<void>,
) {
  const life = live(ids);
  try {
    // An asset that was never mirrored cannot be missed: what it owns would be lost without a word.
    await life.take({ ...PLAIN, only: ['assets'] });
    for (const step of steps) await each(life, step);
    await end(life);
  } finally {
    life.mirrored.close();
  }
}

/** The mirror against the world; scores only after `full`, they are read once an hour (R22). */
function compare({ world, mirrored }: Life, full: boolean): void {
  for (const place of world.places.values()) {
    if (!place.listed) continue;
    const { mirror, world: wanted } = bothSides(mirrored, place) as Record<string, Record<string, unknown>>;
    if (!full)
      for (const side of [mirror, wanted])
        for (const table of ['asset_health_scores', 'asset_health_score_dimensions']) delete side?.[table];
    expect(mirror).toEqual(wanted);
  }
}

/** Two requests for each feed stream, one for each list of a snapshot; besides them the scores, once an hour (R22). */
const LEAST = ['asset-lineage', 'assets', 'assets', 'columns', 'columns', 'latest-test-executions'].concat([
  'latest-test-executions',
  'tests',
  'tests',
]);

/** Nothing has happened: no row is written and no request sent that could be spared (R21, R22). */
async function idle(life: Life): Promise<void> {
  const before = contents(life.mirrored);
  const { summary } = await life.take({ ...PLAIN, pageSize: 2000 });
  expect(summary?.status).toBe('done');
  expect(contents(life.mirrored)).toBe(before);
  const asked = life.mirrored.asked().map(({ path }) => path);
  const wanted = [...life.world.places.keys()].flatMap((id) => LEAST.map((path) => `${id}/${path}`));
  expect(asked.filter((path) => !path.endsWith('health-scores')).sort()).toEqual(wanted);
}

/** A run that ends well; one that only went on with the pass of a stopped run is followed by another. */
async function settleDown(life: Life): Promise<void> {
  openUp(life);
  let { summary } = await life.take(PLAIN);
  if (summary?.run !== summary?.pass) summary = (await life.take(PLAIN)).summary;
  expect(summary?.streams.filter(({ error }) => error)).toEqual([]);
  expect(summary?.status).toBe('done');
}

test('whatever is told of is mirrored by the next run that ends well', LONG, async () => {
  await fc.assert(
    fc.asyncProperty(histories('told'), (steps) =>
      inLife(
        ['e1'],
        steps,
        async (life, step) => {
          const { summary, quiet } = await life.take(step);
          if (step.step !== 'sync') return;
          expect(life.check()).toEqual([]);
          const ownPass = summary !== null && summary.run === summary.pass;
          if (
            quiet &&
            ownPass &&
            step.only === undefined &&
            summary.status === 'done' &&
            life.world.dates !== 'never' &&
            !summary.streams.some((s) => s.status === 'unavailable')
          )
            compare(life, false);
        },
        async (life) => {
          await settleDown(life);
          compare(life, false);
          await idle(life);
          expect(life.check()).toEqual([]);
        },
      ),
    ),
    { seed: SEED, numRuns: RUNS },
  );
});

test('whatever happens, a scan makes the mirror true again', LONG, async () => {
  await fc.assert(
    fc.asyncProperty(histories('any'), (steps) =>
      inLife(
        ['e1', 'e2'],
        steps,
        async (life, step) => {
          await life.take(step);
          if (step.step === 'sync') expect(life.check()).toEqual([]);
        },
        async (life) => {
          await settleDown(life);
          const { summary } = await life.take({ ...PLAIN, full: true });
          expect(summary?.status).toBe('done');
          compare(life, true);
          await idle(life);
          expect(life.check()).toEqual([]);
        },
      ),
    ),
    { seed: SEED, numRuns: RUNS },
  );
});
