import PQueue from 'p-queue';

/** How many objects of these sizes may be in memory at a time. */
export function concurrencyOf(sizes: readonly number[]): number {
  const largest = sizes.reduce((larger, size) => Math.max(larger, size), 1);
  return Math.max(1, Math.min(MAX_OBJECTS, Math.floor(MAX_BYTES / largest)));
}

const MAX_OBJECTS = 8;
const MAX_BYTES = 64 * 2 ** 20;

/** Runs an action for each item. After a failure, no more begin, and those in progress have ended. */
export async function atOnce<T>(
  concurrency: number,
  items: readonly T[],
  action: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = new PQueue({ concurrency });
  try {
    await queue.addAll(items.map((item) => () => action(item)));
  } finally {
    queue.clear();
    await queue.onIdle();
  }
}
