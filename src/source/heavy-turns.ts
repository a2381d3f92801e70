import PQueue from 'p-queue';

/** A longer body is heavy: it is read, decoded and committed before the next heavy body is read on (R27). */
export const HEAVY_BYTES = 2 * 1024 * 1024;

/** Lets one heavy body be read at a time, however many requests are in flight (R27). */
export type HeavyTurns = PQueue;

export function openHeavyTurns(): HeavyTurns {
  return new PQueue({ concurrency: 1 });
}

/** Waits for the turn. @returns a function that ends the turn */
export function takeTurn(turns: HeavyTurns): Promise<() => void> {
  return new Promise((resolve) => {
    void turns.add(() => new Promise<void>((end) => resolve(end)));
  });
}
