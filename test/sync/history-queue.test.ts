import { expect, test } from 'vitest';
import type { DueTest } from '../../src/core/ports/destination.ts';
import { createHistoryQueue } from '../../src/sync/history-queue.ts';
import { ask, context, inRound, streamOf, T } from '../core/setup.ts';

const IN_PHASE = inRound({ mode: 'window', steps: [ask('tests')] }, { watermark: null });

function due(count: number): DueTest[] {
  const never = { readAt: null, knownFrom: null, mirroredAt: T, pageLimit: null, hasRejected: 0, hasFailed: 0 };
  return Array.from({ length: count }, (_, i) => ({ id: `t${i}`, ...never }));
}

test('thousands of due tests are looked up a few times, and again only in the next round (R22)', async () => {
  let left = due(6000);
  const lookUps: number[] = [];
  const queue = createHistoryQueue({
    stream: streamOf('test_executions'),
    destination: {
      async dueTests({ limit }) {
        lookUps.push(left.length);
        return left.slice(0, limit);
      },
    },
    concurrency: 4,
    fetch: () => Promise.reject(new Error('nothing is asked for ahead')),
  });
  const readAll = async (): Promise<number> => {
    for (let count = 0; ; count++) {
      if ((await queue.next(IN_PHASE, context())).do !== 'fetch') return count;
      left = left.slice(1);
    }
  };
  expect(await readAll()).toBe(6000);
  expect(lookUps).toEqual([6000, 1000]);
  left = due(1);
  expect(await readAll()).toBe(0);
  queue.restart();
  expect(await readAll()).toBe(1);
  expect(lookUps).toEqual([6000, 1000, 1]);
});
