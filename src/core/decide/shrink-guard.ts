import type { Context } from '../context.ts';
import type { RemovalCount } from '../ports/destination.ts';
import type { Stream } from '../stream.ts';

const LEAST_REMOVALS = 50;

/** Whether removals are held back until `--allow-shrink` applies them, because there are too many (R14). */
export function isHeld(stream: Stream, { live, toRemove }: RemovalCount, { options }: Context): boolean {
  return !stream.skipsShrinkGuard && !options.allowShrink && toRemove >= LEAST_REMOVALS && toRemove * 2 > live;
}
