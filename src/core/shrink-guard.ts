import type { Context } from './context.ts';
import type { Weight } from './destination.ts';
import type { Stream } from './stream.ts';

const MIN_GOING = 50;

/** Whether a removal is so large that it waits for a second sight, or for `--allow-shrink` (R14). */
export function isHeld(stream: Stream, { live, going }: Weight, { options }: Context): boolean {
  return !stream.shrinks && !options.allowShrink && going >= MIN_GOING && going * 2 > live;
}
