import type { World } from '../model/world.ts';
import { countOf, type Point } from './points.ts';

/** Follows a sequential run by its statements, to know at any point what it has requested and committed. */
export interface Trail {
  pass(label: string): void;
  point(label: string): Point;
}

export function trailOf(world: World): Trail {
  const from = world.log.length;
  let [kept, saved] = [from, false];
  return {
    pass(label) {
      if (/^after (BEGIN|ROLLBACK)/.test(label)) saved = false;
      if (/^after insert into "sync_checkpoints"/.test(label)) saved = true;
      if (label === 'after COMMIT' && saved) kept = world.log.length;
    },
    point: (label) => ({
      label,
      nowMs: world.nowMs,
      requests: countOf(world.log.slice(from)),
      inFlight: countOf(world.log.slice(kept)),
    }),
  };
}
