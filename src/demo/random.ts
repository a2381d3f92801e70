export type SeededRandom = ReturnType<typeof randomOf>;

/** Uses the generator Mulberry32. */
export function randomOf(seed: number) {
  let state = seed >>> 0;
  /** A number from 0 up to but excluding 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from 0 up to but excluding `below`. */
  const whole = (below: number) => Math.floor(next() * below);
  const hex = (digits: number): string => {
    const word = whole(2 ** 32).toString(16);
    return word.padStart(8, '0').slice(0, digits) + (digits <= 8 ? '' : hex(digits - 8));
  };
  return {
    next,
    whole,
    hex,
    chance: (probability: number) => next() < probability,
    pick: <T>(from: readonly T[]) => from[whole(from.length)] as T,
    /** Picks `count` different items and keeps their order; all items if there are fewer. */
    some<T>(from: readonly T[], count: number): T[] {
      let wanted = count;
      return from.filter((_, i) => {
        const isTaken = next() * (from.length - i) < wanted;
        if (isTaken) wanted -= 1;
        return isTaken;
      });
    },
  };
}
