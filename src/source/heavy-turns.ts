import PQueue from 'p-queue';

/** A body beyond this is heavy: it is read, decoded and committed before the next heavy one is read on (R27). */
export const HEAVY_BYTES = 2 * 1024 * 1024;

/** One heavy body at a time, however many requests are in flight. */
export type HeavyTurns = PQueue;

export function openHeavyTurns(): HeavyTurns {
  return new PQueue({ concurrency: 1 });
}

/** Waits for the turn. @returns what ends it */
export function takeTurn(turns: HeavyTurns): Promise<() => void> {
  return new Promise((resolve) => {
    void turns.add(() => new Promise<void>((end) => resolve(end)));
  });
}
