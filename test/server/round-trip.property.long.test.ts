import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { type Command, PLAIN_SYNC } from '../model/commands.ts';
import {
  type EnvironmentModel,
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putScore,
  putTest,
  remove,
  stampInFuture,
} from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { histories } from '../model/histories.ts';
import { type Simulation, simulate } from '../model/simulation.ts';
import { createTestMirror, type Row, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, HOUR, type World } from '../model/world.ts';
import { openSource } from '../source/setup.ts';
import { applyOddity, ENVS, type Oddity, oddities, oddScore } from '../support/oddities.ts';
import {
  createFollower,
  type Follower,
  inventedExecutions,
  mirrorAndCopy,
  type ServedMirror,
  serveMirrored,
  TOKEN,
  texts,
} from '../support/served-mirror.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 6);
const LONG = { timeout: 1_000_000 };

interface Round {
  readonly commands: readonly Command[];
  readonly oddities: readonly Oddity[];
  readonly standing: boolean;
  readonly follow: {
    readonly overlapSeconds: number;
    readonly pageSize: number;
    readonly full: boolean;
    readonly maxRequests: number | undefined;
  };
}

const rounds: fc.Arbitrary<Round[]> = fc.array(
  fc.record({
    commands: histories('all', 8),
    oddities: fc.array(oddities, { maxLength: 6 }),
    standing: fc.boolean(),
    follow: fc.record({
      overlapSeconds: fc.constantFrom(0, 0, 0, 3600),
      pageSize: fc.constantFrom(1, 2, 7, 2000),
      full: fc.nat({ max: 5 }).map((n) => n === 0),
      maxRequests: fc.option(fc.integer({ min: 2, max: 30 }), { nil: undefined, freq: 2 }),
    }),
  }),
  { minLength: 2, maxLength: 3 },
);

test('a mirror of a mirror equals it after every successful run, whatever happened in between', LONG, async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 2, max: 30 }), rounds, async (firstRequests, history) => {
      const simulation = simulate(ENVS);
      const served = await serveMirrored(simulation.mirrored);
      const copy = createFollower();
      try {
        // A mirror that was never written lists no environment, so nothing can mirror it.
        await simulation.perform({ ...PLAIN_SYNC, maxRequests: firstRequests });
        for (const round of history) await passRound(simulation, served, copy, round);
        await simulation.perform(PLAIN_SYNC);
        await follow(simulation, served, copy, { overlapSeconds: 0, pageSize: 3, full: false, maxRequests: undefined });
        await follow(simulation, served, copy, { overlapSeconds: 0, pageSize: 3, full: true, maxRequests: undefined });
      } finally {
        await served.close();
        copy.close();
        simulation.mirrored.close();
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

async function passRound(simulation: Simulation, served: ServedMirror, copy: Follower, round: Round): Promise<void> {
  simulation.world.latencyMs = round.standing ? 0 : 200;
  for (const oddity of round.oddities) applyOddity(simulation.world, oddity);
  for (const command of round.commands) await simulation.perform(command);
  await follow(simulation, served, copy, round.follow);
}

async function follow(
  { mirrored }: Simulation,
  served: ServedMirror,
  copy: Follower,
  { full, ...following }: Round['follow'],
): Promise<void> {
  const before = new Map<string, readonly Row[]>(
    CATALOGUE.map(({ name, table }) => [name, copy.rows(`select * from ${table}`)]),
  );
  let summary = await copy.sync(served, { ...following, full });
  const held = summary.streams.filter(({ status }) => status === 'held');
  // Between two syncs, a copy may lose more rows at once than the mirror ever has (R14).
  for (const { stream, env_id, rows_held } of held) {
    const live = before.get(stream)?.filter((row) => row['env_id'] === env_id && !row['deleted_at']) ?? [];
    expect(rows_held).toBeGreaterThanOrEqual(Math.max(50, live.length / 2));
  }
  if (held.length > 0) summary = await copy.sync(served, { ...following, allowShrink: true });
  expect(inventedExecutions(mirrored, copy)).toEqual([]);
  if (summary.status === 'stopped') return;
  expect(summary.error).toBeNull();
  expect(summary.streams.filter(({ status }) => status !== 'done')).toEqual([]);
  expect(summary.status).toBe('done');
  if (summary.run !== summary.cycle) return;
  const sides = mirrorAndCopy(mirrored, copy, { withScores: full });
  expect(sides.copy).toEqual(sides.mirror);
}

interface ServedWorldScene {
  readonly world: World;
  readonly place: EnvironmentModel;
  readonly mirrored: TestMirror;
  readonly served: ServedMirror;
  readonly copy: Follower;
}

async function setUp(fill: (place: EnvironmentModel) => void): Promise<ServedWorldScene> {
  const world = createWorld(ENVS);
  for (const place of world.environments.values()) fill(place);
  const mirrored = createTestMirror(world);
  await mirrored.sync({ history: true });
  const served = await serveMirrored(mirrored);
  const copy = createFollower();
  onTestFinished(async () => {
    await served.close();
    copy.close();
    mirrored.close();
  });
  return { world, place: world.environment(), mirrored, served, copy };
}

function expectEqual({ mirrored, copy }: ServedWorldScene): void {
  const sides = mirrorAndCopy(mirrored, copy, { withScores: true });
  expect(sides.copy).toEqual(sides.mirror);
}

/** Everything that is never deleted (R17), without the mirror's own times. */
const kept = ({ rows }: Pick<Follower, 'rows'>) =>
  ['test_executions', 'asset_health_score_history'].map((table) =>
    texts(rows(`select * from ${table}`).map(({ mirrored_at: _, ...row }) => row)),
  );

test('over a socket, everything is equal in every round, including histories, odd ids and unknown fields', async () => {
  const scene = await setUp((place) => {
    furnish(place);
    for (const id of ['.', '..', '/', 'a/../b', '?x=1&y#z', '%2e', 'ü \u2028 🦉']) {
      putAsset(place, id);
      putColumn(place, `c${id}`, id);
      putTest(place, id, id, { config: { id } });
      execute(place, id, `first ${id}`, { sub_test_unique_id: id });
      putAssetEdge(place, id, 'a1');
      putColumnEdges(place, `c${id}`, ['a1.c1', `c${id}`]);
    }
    oddScore(place, 'a3', { zusätzlich: { at: 1 } });
  });
  const { world, mirrored, served, copy } = scene;
  const baseUrl = await served.server.listen({ host: '127.0.0.1', port: 0 });
  for (const round of [1, 2, 3]) {
    const source = openSource(baseUrl, { token: TOKEN });
    expect((await copy.sync(source)).status).toBe('done');
    await source.close();
    expectEqual(scene);
    expect(kept(copy)).toEqual(kept(mirrored));
    world.advance(HOUR);
    for (const place of world.environments.values()) {
      for (const id of ['..', 't1', 't3']) execute(place, id, `round ${round}`, { status: 'FAIL' });
      putScore(place, 'a1', round / 8, { freshness: round / 8, [`of round ${round}`]: 1 });
      remove(place, 'columns', `a2.c${round}`);
      putAsset(place, round === 2 ? '..' : '/', { kind: round === 2 ? 'bi' : 'table', description: `${round}` });
    }
    expect((await mirrored.sync({ history: true })).status).toBe('done');
  }
});

test('edges that changed without their column reach a copy by the feeds alone (R21)', async () => {
  const scene = await setUp(furnish);
  const { world, place, mirrored, served, copy } = scene;
  await copy.sync(served);
  for (const change of [
    () => place.columnEdges.set('far>a2.c1', ['far', 'a2.c1']),
    () => place.columnEdges.delete('a1.c2>a2.c1'),
    () => place.columnEdges.delete('a1.c2>a2.c2'),
    () => place.columnEdges.set('far>a1.c1', ['far', 'a1.c1']),
  ]) {
    change();
    world.advance(1);
    await mirrored.sync({ full: true });
    const { streams } = await copy.sync(served);
    expect(streams.filter(({ mode }) => mode === 'scan')).toEqual([]);
    expectEqual(scene);
  }
});

test('rows that reach the mirror late reach a copy by the feeds, whatever their times', async () => {
  const scene = await setUp(furnish);
  const { world, place, mirrored, served, copy } = scene;
  await copy.sync(served);
  const pass = async (clockHours: number, change: () => void, full = false): Promise<void> => {
    change();
    mirrored.clockSkewMs = clockHours * HOUR * 1000;
    await mirrored.sync({ full });
    const { streams } = await copy.sync(served);
    expect(streams.filter(({ mode }) => mode === 'scan')).toEqual([]);
    expectEqual(scene);
  };
  await pass(9, () => putColumn(place, 'a1.c1', 'a1', { data_type: 'of a clock that is ahead' }));
  await pass(-9, () => remove(place, 'columns', 'a1.c1'));
  await pass(-9, () => putColumn(place, 'a1.c1', 'a1', { data_type: 'back again' }));
  world.commitLate(1200, () => remove(place, 'tests', 't1'));
  world.commitLate(1200, () => putColumn(place, 'a2.c3', 'a2', { data_type: 'of a late commit' }));
  await pass(0, () => putColumn(place, 'a2.c1', 'a2', { data_type: 'of its time' }));
  await pass(0, () => world.advance(1200));
  const old = { item: { id: 'old', asset_id: 'a1', name: 'old', synced_at: '1970-01-01T00:00:00' } };
  await pass(0, () => place.columns.set('old', { ...old, state: 'live', deletedAt: null }), true);
});

test('a time of the source that is not trusted is not served: a copy has the time of the mirror (R10)', async () => {
  const scene = await setUp(furnish);
  const { world, place, mirrored, served, copy } = scene;
  for (const [kind, id] of [
    ['assets', 'a2'],
    ['columns', 'a1.c1'],
    ['tests', 't1'],
  ] as const)
    stampInFuture(place, kind, id);
  world.advance(HOUR);
  await mirrored.sync({ full: true });
  await copy.sync(served);
  expectEqual(scene);
  const withTime = "select id from columns where extra ->> 'synced_at' is not null";
  expect([mirrored.rows(withTime), copy.rows(withTime)]).toEqual([[{ id: 'a1.c1' }], []]);
});

test('removals that the mirror holds back are not served; once applied, they reach a copy at once (R14)', async () => {
  const scene = await setUp((place) => {
    furnish(place);
    for (let n = 0; n < 90; n += 1) putColumn(place, `c${n}`, 'a1');
  });
  const { world, place, mirrored, served, copy } = scene;
  await copy.sync(served);
  for (let n = 0; n < 90; n += 1) remove(place, 'columns', `c${n}`, 'lost');
  world.advance(HOUR);
  expect((await mirrored.sync({ full: true })).status).toBe('problems');
  expect(await copy.sync(served)).toMatchObject({ status: 'done', rows_deleted: 0 });
  expectEqual(scene);
  world.advance(HOUR);
  expect((await mirrored.sync({ allowShrink: true })).status).toBe('done');
  expect(await copy.sync(served)).toMatchObject({ status: 'done', rows_deleted: 90 });
  expectEqual(scene);
});

test('a row that the mirror rejects is served in its previous state, or not at all without one (R20)', async () => {
  const scene = await setUp(furnish);
  const { world, place, mirrored, served, copy } = scene;
  await copy.sync(served);
  putColumn(place, 'a1.c1', 'a1', { name: 7 });
  putColumn(place, 'a1.new', 'a1', { name: null });
  putAsset(place, 'a2', { materialization: null, description: 'changed' });
  putAsset(place, 'a new one', { materialization: 5 });
  world.advance(HOUR);
  expect((await mirrored.sync()).status).toBe('problems');
  expect((await copy.sync(served)).status).toBe('done');
  expectEqual(scene);
  const found = (sql: string) =>
    copy.rows(`${sql} where env_id = 'e1' and id in ('a1.c1', 'a1.new', 'a2', 'a new one') order by id`);
  expect(found('select id, name from columns')).toEqual([{ id: 'a1.c1', name: 'a1.c1' }]);
  expect(found('select id, description, materialization from assets')).toEqual([
    { id: 'a new one', description: null, materialization: null },
    { id: 'a2', description: 'changed', materialization: 'table' },
  ]);
});
