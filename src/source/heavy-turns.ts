import PQueue from 'p-queue';

/** A longer body is heavy: it is read, decoded and committed before the next heavy body continues (R27). */
export const HEAVY_BYTES = 2 * 1024 * 1024;

/** Serializes the reading of heavy bodies, however many requests are in flight (R27). */
export type HeavyTurns = PQueue;

export function openHeavyTurns(): HeavyTurns {
  return new PQueue({ concurrency: 1 });
}

/**
 * Waits for a turn.
 * @returns a function that ends the turn
 */
export function takeTurn(turns: HeavyTurns): Promise<() => void> {
  return new Promise((resolve) => {
    void turns.add(() => new Promise<void>((end) => resolve(end)));
  });
}
