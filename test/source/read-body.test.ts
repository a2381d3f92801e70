import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../src/source/read-body.ts';
import { ASSETS, failureOf, setUp } from './setup.ts';

const bytes = Buffer.from('{"items":[1,2,3]}');
const atMost = (maxBytes: number) => ({ maxBytes, heavyBytes: maxBytes, onHeavy: async () => {} });

describe('readBody', () => {
  test.each<[string | undefined, Buffer]>([
    [undefined, bytes],
    ['identity', bytes],
    ['gzip', gzipSync(bytes)],
    [' X-GZIP', gzipSync(bytes)],
    ['br', brotliCompressSync(bytes)],
    ['deflate', deflateSync(bytes)],
  ])('a body is decompressed by its content-encoding: %s', async (encoding, sent) => {
    expect(await readBody(Readable.from([sent.subarray(0, 5), sent.subarray(5)]), encoding, atMost(100))).toEqual(
      bytes,
    );
  });

  test('a body may be as long as the limit, and not a byte longer (R27)', async () => {
    expect(await readBody(Readable.from([bytes]), undefined, atMost(bytes.length))).toEqual(bytes);
    await expect(readBody(Readable.from([bytes]), undefined, atMost(bytes.length - 1))).rejects.toThrow('longer than');
  });

  test('reading stops as soon as a body exceeds the limit (R27)', async () => {
    let chunks = 0;
    const endless = new Readable({
      read() {
        chunks++;
        this.push(Buffer.alloc(1000));
      },
    });
    await expect(readBody(endless, undefined, atMost(10_000))).rejects.toThrow('longer than');
    expect(endless.destroyed).toBe(true);
    expect(chunks).toBeLessThan(200);
  });

  test('the limit counts decompressed bytes (R27)', async () => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    expect(bomb.length).toBeLessThan(10_000);
    await expect(readBody(Readable.from([bomb]), 'gzip', atMost(10_000))).rejects.toThrow('longer than');
  });

  test('a body that contradicts its content-encoding is rejected (R24)', async () => {
    const cut = gzipSync(bytes).subarray(0, 12);
    for (const [encoding, sent] of [
      ['gzip', bytes],
      ['br', bytes],
      ['deflate', bytes],
      ['gzip', cut],
    ] as const) {
      await expect(readBody(Readable.from([sent]), encoding, atMost(100))).rejects.toMatchObject({
        name: 'BadEncoding',
      });
    }
  });
});

test('a page of more than 64 MiB, decompressed, is halved instead of retried (R24, R27)', async () => {
  const body = gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1, ' '));
  const { server, source } = await setUp([{ headers: { 'content-encoding': 'gzip' }, body }]);
  const failure = await failureOf(source.page(ASSETS));
  expect([failure.recovery, server.requests.length]).toEqual(['halve-page', 1]);
  expect(failure.message).toContain('64 MiB');
});
