export interface SeededRandom {
  /** A number from 0 up to but excluding 1. */
  next(): number;
  /** An integer from 0 up to but excluding `below`. */
  whole(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Picks `count` different items and keeps their order; all items if there are fewer. */
  some<T>(from: readonly T[], count: number): T[];
  hex(digits: number): string;
}

/** Uses the generator Mulberry32. */
export function randomOf(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number) => Math.floor(next() * below);
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    pick: (from) => from[whole(from.length)] as (typeof from)[number],
    some: (from, count) => chosen(from, count, next),
    hex: (digits) => hexOf(digits, whole),
  };
}

function hexOf(digits: number, whole: (below: number) => number): string {
  const word = whole(2 ** 32)
    .toString(16)
    .padStart(8, '0');
  return digits <= 8 ? word.slice(0, digits) : word + hexOf(digits - 8, whole);
}

function chosen<T>(from: readonly T[], count: number, next: () => number): T[] {
  let wanted = count;
  return from.filter((_, i) => {
    const taken = next() * (from.length - i) < wanted;
    if (taken) wanted -= 1;
    return taken;
  });
}
