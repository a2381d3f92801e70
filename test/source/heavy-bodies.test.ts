import { Readable } from 'node:stream';
import PQueue from 'p-queue';
import { expect, test } from 'vitest';
import { readBody } from '../../src/source/read-body.ts';
import { HEAVY_BYTES, takeTurn } from '../../src/source/send.ts';
import { ASSETS, setUp } from './setup.ts';

test('only a body above the threshold waits for its turn (R27)', async () => {
  const half = Buffer.alloc(10, 'x');
  const asked: number[] = [];
  const read = (parts: number, heavyBytes: number) =>
    readBody(Readable.from(Array.from({ length: parts }, () => half)), undefined, {
      maxBytes: 100,
      heavyBytes,
      onHeavy: async () => void asked.push(parts),
    });
  expect((await read(3, 30)).length).toBe(30);
  expect(asked).toEqual([]);
  expect((await read(4, 30)).length).toBe(40);
  expect(asked).toEqual([4]);
});

test('one heavy body is read at a time (R27)', async () => {
  const turns = new PQueue({ concurrency: 1 });
  const end = await takeTurn(turns);
  const order = ['first'];
  const second = takeTurn(turns).then((endSecond) => {
    order.push('second');
    endSecond();
  });
  await new Promise((resolve) => setImmediate(resolve));
  order.push('ends');
  end();
  await second;
  expect(order).toEqual(['first', 'ends', 'second']);
});

test('heavy pages requested together all arrive (R27)', async () => {
  const body = { items: ['x'.repeat(HEAVY_BYTES + 1)] };
  const { source } = await setUp([{ body }], { concurrency: 3 });
  await source.page(ASSETS);
  const pages = await Promise.all([source.page(ASSETS), source.page(ASSETS), source.page(ASSETS)]);
  expect(pages.map(({ items }) => String([...items][0]).length)).toEqual([1, 1, 1].map(() => HEAVY_BYTES + 1));
});
