import type { Context } from './context.ts';
import type { RemovalCount } from './destination.ts';
import type { Stream } from './stream.ts';

const MIN_GOING = 50;

/** Whether a removal is so large that it waits for a second sight, or for `--allow-shrink` (R14). */
export function isHeld(stream: Stream, { live, toRemove }: RemovalCount, { options }: Context): boolean {
  return !stream.skipsShrinkGuard && !options.allowShrink && toRemove >= MIN_GOING && toRemove * 2 > live;
}
