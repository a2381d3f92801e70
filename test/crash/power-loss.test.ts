import { expect, test } from 'vitest';
import { each } from './every.ts';
import { digestOf } from './outcome.ts';
import { type Files, type Point, restore, type State, statesOf } from './points.ts';
import { expectCarriesOn, SCENES } from './reference.ts';
import type { Scene } from './scenes.ts';
import { framesOf, LOSSES, saltOf } from './wal.ts';

/** A possible state of the disk after a power loss, and the mirror that must be found there. */
interface Loss {
  readonly label: string;
  files(): Files;
  readonly found: State;
}

/**
 * The possible losses of the log (`synchronous=NORMAL`): all frames from any one on, except those that a checkpoint had
 * synced. What remains is what the run had committed in the frames before.
 */
function lostLogs(states: readonly State[]): Loss[] {
  return eras(states).flatMap((era) => {
    const wal = walOf(era.at(-1)?.state);
    return framesOf(wal).flatMap((frame, number) => {
      const found = era.findLast(({ frames }) => frames <= number)?.state;
      if (found === undefined) return [];
      return LOSSES.map(([name, lose]) => ({
        label: `the log ${name} frame ${number}, ${found.last.label}`,
        files: () => ({ ...found.files, '-wal': lose(wal, frame) }),
        found,
      }));
    });
  });
}

/**
 * States with the same file, and the number of frames of one log. The log starts over once the file contains all of it.
 */
function eras(states: readonly State[]): { state: State; frames: number }[][] {
  const found: { state: State; frames: number }[][] = [];
  let last: State | null = null;
  for (const state of states) {
    const here = { state, frames: framesOf(walOf(state)).length };
    const sameFile = last?.files[''] === state.files[''];
    if (last !== null && sameFile && isContinued(walOf(last), walOf(state))) found.at(-1)?.push(here);
    else found.push(last !== null && sameFile ? [{ state: last, frames: 0 }, here] : [here]);
    last = state;
  }
  return found;
}

function isContinued(before: Buffer, after: Buffer): boolean {
  return before.length === 0 || saltOf(before) === saltOf(after);
}

/** An interrupted checkpoint: any sectors of the file may be old, and the log is complete. */
function tornCheckpoints(states: readonly State[]): Loss[] {
  return states.slice(1).flatMap((found, i) => {
    const before = states[i] as State;
    const [old, written] = [before.files[''], found.files['']];
    if (old === undefined || written === undefined || old === written || walOf(before).length === 0) return [];
    const wal = walOf(found).length > 0 ? walOf(found) : walOf(before);
    return [0, 1].map((parity) => ({
      label: `sectors ${parity}, ${found.last.label}`,
      files: () => ({ '': mixed(old, written, parity), '-wal': wal }),
      found,
    }));
  });
}

const SECTOR_BYTES = 512;

function mixed(old: Buffer, written: Buffer, parity: number): Buffer {
  const mixture = Buffer.from(written);
  for (let at = parity * SECTOR_BYTES; at < written.length; at += 2 * SECTOR_BYTES)
    mixture.fill(0, at, at + SECTOR_BYTES).set(old.subarray(at, at + SECTOR_BYTES), at);
  return mixture;
}

function walOf(state: State | undefined): Buffer {
  return state?.files['-wal'] ?? Buffer.alloc(0);
}

async function statesWith(scene: Scene, frames: number): Promise<State[]> {
  return statesOf(scene, (connection) => void connection.pragma(`wal_autocheckpoint = ${frames}`));
}

const CHECKPOINTS: [string, number][] = [
  ['a checkpoint every few pages', 40],
  ['one checkpoint at its end', 4000],
];
const CASES = SCENES.flatMap(([name, stage]) =>
  CHECKPOINTS.map(([often, frames]) => [name, often, stage, frames] as const),
);

test.each(each(CASES, 3))(
  'a power loss during %s with %s leaves the mirror as of a commit, and the next run completes it (R5)',
  async (_, __, stage, frames) => {
    const { scene, reference } = await stage();
    const states = await statesWith(scene, frames);
    const digests = new Map<State, ReturnType<typeof digestOf>>();
    const losses = [...each(lostLogs(states), 307), ...each(tornCheckpoints(states), 9)];
    for (const [i, { label, files, found }] of losses.entries()) {
      const expected = digests.get(found) ?? digestOf(restore(found.files));
      digests.set(found, expected);
      expect(digestOf(restore(files())), label).toEqual(expected);
      const point: Point = { ...found.last, label };
      if (i % 3 === 1) await expectCarriesOn(scene, restore(files()), reference, point);
    }
  },
);
