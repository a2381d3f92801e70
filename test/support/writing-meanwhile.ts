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
import { populate } from '../model/populate.ts';
import { createTestMirror, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, HOUR, type World } from '../model/world.ts';
import { PLAIN_FEEDS } from './catalogue.ts';
import { type ServedMirror, serveMirrored } from './served-mirror.ts';

const WRITER = 0;
const READER = 1;

/** What the writer does: between its syncs something happens, and time goes on, stands still or runs backwards. */
export interface Written {
  readonly happenings: readonly Action[];
  readonly seconds: number;
  readonly clockHours: number;
  readonly full: boolean;
}

export const writings: fc.Arbitrary<Written[]> = fc.array(
  fc.record({
    happenings: fc.array(actions('reported'), { minLength: 1, maxLength: 6 }),
    seconds: fc.constantFrom(0, 0, 1, HOUR),
    clockHours: fc.constantFrom(0, 0, 0, 5, -5),
    full: fc.boolean(),
  }),
  { minLength: 2, maxLength: 4 },
);

/** Who takes the next step, over and over; both come up. */
export const patterns = fc
  .array(fc.constantFrom(WRITER, READER), { maxLength: 9 })
  .map((some) => [...some, WRITER, READER]);

/** Things that nothing happens to, before, among and behind those that change. */
function furnish(place: EnvironmentModel): void {
  populate(place);
  for (const id of ['a', 'a00', 'a1x', 'a2x', 'z']) {
    putAsset(place, id);
    for (const n of [0, 1]) putColumn(place, `${id}.c${n}`, id);
    putTest(place, `t-${id}`, id);
    putTest(place, `off-${id}`, id, { disabled: true });
    execute(place, `t-${id}`, `t-${id}-first`);
    for (const kind of PLAIN_FEEDS) putSample(place, kind, `${kind}-${id}`, id);
    putScore(place, id, 0.25);
    putAssetEdge(place, 'a', id);
    putColumnEdges(place, `${id}.c0`, ['a.c1', 'far']);
  }
}

/** Before every sync something happens to some row of every list. */
function stir(place: EnvironmentModel, round: number): void {
  putAsset(place, 'a1', { kind: 'table', description: `of round ${round}` });
  putColumn(place, 'a1.c0', 'a1', { data_type: `of round ${round}` });
  putColumnEdges(place, 'a1.c0', [`up${round}`]);
  for (const [id, disabled] of [
    ['t-stirred', false],
    ['off-stirred', true],
  ] as const)
    putTest(place, id, 'a', { disabled, description: `of round ${round}` });
  for (const kind of PLAIN_FEEDS) putSample(place, kind, `${kind}-stirred`, 'a', { seen: round });
  putAsset(place, `a1y${round}`);
  putAssetEdge(place, 'a', `a1y${round}`);
  execute(place, 't-stirred', `t-stirred-${round}`);
  putScore(place, 'a1', round / 8);
}

export interface Scene {
  readonly world: World;
  readonly mirrored: TestMirror;
  readonly served: ServedMirror;
}

/** A furnished world, its mirror after a first sync, and the server over it. */
export async function inScene(body: (scene: Scene) => Promise<void>, through?: (file: MirrorFile) => MirrorFile) {
  // Long ago: a server that told its machine's time would run ahead.
  const world = createWorld(['e1'], '2020-02-20T04:10:00.250Z');
  furnish(world.environment());
  const mirrored = createTestMirror(world);
  try {
    await mirrored.sync();
    const served = await serveMirrored(mirrored, through);
    await body({ world, mirrored, served }).finally(served.close);
  } finally {
    mirrored.close();
  }
}

/** The writer and a reader at the same time: every page of the one falls between two pages of the other. */
export async function together(
  { world, mirrored }: Scene,
  { written, pattern }: { written: readonly Written[]; pattern: readonly number[] },
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
    for (const [round, { happenings, seconds, clockHours, full }] of written.entries()) {
      stir(world.environment(), round);
      for (const action of happenings) applyAction(world, action);
      // It is about readers: every run of the writer ends well.
      for (const failing of [
        world.environment().brokenScans,
        world.environment().brokenHistories,
        world.environment().maxPageRows,
      ])
        failing.clear();
      world.latencyMs = seconds === 0 ? 0 : 200;
      world.advance(seconds);
      mirrored.clockSkewMs = clockHours * HOUR * 1000;
      // Scores of the same hour are read by a full one alone (R22).
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

/** Lets several work at the same time take their turns one by one, in an order that repeats. */
interface Turns {
  /** Awaited by one of them before each of its steps; there is one step of each at a time. */
  take(who: number): Promise<void>;
  /** One of them has no more steps. */
  leave(who: number): void;
}

/** `pattern` names who goes on next, over and over; whoever is named and has left is passed over. */
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
