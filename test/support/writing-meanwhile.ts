import fc from 'fast-check';
import { expect } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { type Action, actions, applyAction } from '../model/actions.ts';
import {
  type EnvironmentModel,
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putScore,
  putTest,
} from '../model/environment.ts';
import type { MakeTwin } from '../model/mirror-twin.ts';
import { populate } from '../model/populate.ts';
import { createTestMirror, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, HOUR, type World } from '../model/world.ts';
import { PLAIN_FEEDS } from './catalogue.ts';
import { type ServedMirror, serveMirrored } from './served-mirror.ts';

const WRITER = 0;
const READER = 1;

/** One step of the writer: actions, then a sync. Time may advance, stand still or run backwards. */
export interface WriterStep {
  readonly actions: readonly Action[];
  readonly seconds: number;
  readonly clockHours: number;
  readonly full: boolean;
}

export const writerSteps: fc.Arbitrary<WriterStep[]> = fc.array(
  fc.record({
    actions: fc.array(actions('reported'), { minLength: 1, maxLength: 6 }),
    seconds: fc.constantFrom(0, 0, 1, HOUR),
    clockHours: fc.constantFrom(0, 0, 0, 5, -5),
    full: fc.boolean(),
  }),
  { minLength: 2, maxLength: 4 },
);

/** A repeating order of turns that includes both the writer and the reader. */
export const turnPatterns = fc
  .array(fc.constantFrom(WRITER, READER), { maxLength: 9 })
  .map((some) => [...some, WRITER, READER]);

/** Adds rows that never change, whose keys lie before, between and after those that do. */
function furnish(env: EnvironmentModel): void {
  populate(env);
  for (const id of ['a', 'a00', 'a1x', 'a2x', 'z']) {
    putAsset(env, id);
    for (const n of [0, 1]) putColumn(env, `${id}.c${n}`, id);
    putTest(env, `t-${id}`, id);
    putTest(env, `off-${id}`, id, { disabled: true });
    execute(env, `t-${id}`, `t-${id}-first`);
    for (const kind of PLAIN_FEEDS) putSample(env, kind, `${kind}-${id}`, id);
    putScore(env, id, 0.25);
    putAssetEdge(env, 'a', id);
    putColumnEdges(env, `${id}.c0`, ['a.c1', 'far']);
  }
}

/** Changes a row of every list before a sync. */
function changeEveryList(env: EnvironmentModel, round: number): void {
  putAsset(env, 'a1', { kind: 'table', description: `of round ${round}` });
  putColumn(env, 'a1.c0', 'a1', { data_type: `of round ${round}` });
  putColumnEdges(env, 'a1.c0', [`up${round}`]);
  for (const [id, disabled] of [
    ['t-stirred', false],
    ['off-stirred', true],
  ] as const)
    putTest(env, id, 'a', { disabled, description: `of round ${round}` });
  for (const kind of PLAIN_FEEDS) putSample(env, kind, `${kind}-stirred`, 'a', { seen: round });
  putAsset(env, `a1y${round}`);
  putAssetEdge(env, 'a', `a1y${round}`);
  execute(env, 't-stirred', `t-stirred-${round}`);
  putScore(env, 'a1', round / 8);
}

export interface ServedWorldScene {
  readonly world: World;
  readonly mirrored: TestMirror;
  readonly served: ServedMirror;
}

interface ServedWorldOptions {
  readonly through?: ((file: MirrorFile) => MirrorFile) | undefined;
  /** Serves the replica of a mirror's twin in PostgreSQL, refreshed before each request. */
  readonly makeTwin?: MakeTwin | undefined;
}

/** Runs a test with a filled world, its mirror after a first sync, and a server for the mirror. */
export async function withServedWorld(
  body: (scene: ServedWorldScene) => Promise<void>,
  { through, makeTwin }: ServedWorldOptions = {},
) {
  // Years ago, so a server that sent its machine's time would be noticed.
  const world = createWorld(['e1'], '2020-02-20T04:10:00.250Z');
  furnish(world.environment());
  const mirrored = createTestMirror(world, 0, makeTwin);
  try {
    await mirrored.sync();
    const served = await serveMirrored(mirrored, through);
    await body({ world, mirrored, served }).finally(served.close);
  } finally {
    mirrored.close();
  }
}

/** Runs the writer and a reader concurrently, alternating page by page as the pattern says. */
export async function runConcurrently(
  { world, mirrored }: ServedWorldScene,
  { steps, pattern }: { steps: readonly WriterStep[]; pattern: readonly number[] },
  read: (turn: () => Promise<void>, isOver: () => boolean) => Promise<void>,
): Promise<void> {
  const turns = createTurns(2, pattern);
  const open = world.source;
  let isOver = false;
  world.source = (most) => {
    const source = open(most);
    const before = <Args extends unknown[], Found>(ask: (...args: Args) => Promise<Found>) => {
      return async (...args: Args) => {
        await turns.take(WRITER);
        return ask(...args);
      };
    };
    return { ...source, environments: before(source.environments), page: before(source.page) };
  };
  const write = async (): Promise<void> => {
    for (const [round, { actions, seconds, clockHours, full }] of steps.entries()) {
      changeEveryList(world.environment(), round);
      for (const action of actions) applyAction(world, action);
      // This tests the readers, so every run of the writer must succeed.
      for (const failing of [
        world.environment().brokenScans,
        world.environment().brokenHistories,
        world.environment().maxPageRows,
        world.environment().malformed,
      ])
        failing.clear();
      world.latencyMs = seconds === 0 ? 0 : 200;
      world.advance(seconds);
      mirrored.clockSkewMs = clockHours * HOUR * 1000;
      // Only a full run reads the scores twice in an hour (R22).
      const { status } = await mirrored.sync({ pageSize: 3, concurrency: 1, full: full || round === 0 });
      expect(status).toBe('done');
    }
  };
  const writing = write().finally(() => {
    isOver = true;
    turns.leave(WRITER);
  });
  const reading = read(
    () => turns.take(READER),
    () => isOver,
  ).finally(() => turns.leave(READER));
  await Promise.all([writing, reading]);
  world.source = open;
}

/** Makes concurrent workers take turns in a repeating order. */
interface Turns {
  /** A worker awaits this before each of its steps, one at a time. */
  take(worker: number): Promise<void>;
  /** A worker calls this after its last step. */
  leave(worker: number): void;
}

/** `pattern` lists whose turn it is, over and over. Workers that left are skipped. */
function createTurns(workers: number, pattern: readonly number[]): Turns {
  const present = new Set(Array.from({ length: workers }, (_, i) => i));
  const waiting = new Map<number, () => void>();
  let next = 0;
  const go = (): void => {
    if (present.size === 0 || waiting.size < present.size) return;
    let who = pattern[next++ % pattern.length] ?? 0;
    if (!present.has(who)) who = [...present][0] ?? 0;
    const start = waiting.get(who);
    waiting.delete(who);
    start?.();
  };
  return {
    take: (who) =>
      new Promise((resolve) => {
        waiting.set(who, resolve);
        go();
      }),
    leave(who) {
      present.delete(who);
      go();
    },
  };
}
