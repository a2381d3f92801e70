import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { errorCode } from '../core/errors.ts';
import { collectGarbage } from './collect-garbage.ts';

/** The decompressed body is longer than allowed. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The body is compressed with a method that was not accepted, or not as its header says. */
export class BadEncoding extends Error {
  override readonly name = 'BadEncoding';
}

export interface BodyBounds {
  /** The most bytes that a body may have. */
  readonly maxBytes: number;
  /** A larger body is read further only after `onHeavy` resolves. */
  readonly heavyBytes: number;
  onHeavy(): Promise<void>;
}

/** After this many bytes of a heavy body, the memory of its chunks is freed (R27). */
const COLLECTED_BYTES = 8 * 1024 * 1024;

/**
 * Reads a whole body and decompresses it according to `encoding` (the `content-encoding` header). A body that grows too
 * long is destroyed at once, so neither an endless body nor a compression bomb fills the memory.
 * @throws BodyTooLarge, BadEncoding, or the error of the connection
 */
export async function readBody(body: Readable, encoding: string | undefined, bounds: BodyBounds): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let heavy: Buffer | null = null;
  let bytes = 0;
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      if (bytes + chunk.length > bounds.maxBytes)
        throw new BodyTooLarge(`The body is longer than ${bounds.maxBytes} bytes`);
      if (heavy === null && bytes + chunk.length > bounds.heavyBytes) {
        await bounds.onHeavy();
        heavy = gather(chunks, bounds.maxBytes);
      }
      if (heavy === null) chunks.push(chunk);
      else chunk.copy(heavy, bytes);
      if (heavy !== null && (bytes % COLLECTED_BYTES) + chunk.length >= COLLECTED_BYTES) collectGarbage();
      bytes += chunk.length;
    }
  };
  const inflater = inflaterFor(encoding, body);
  await (inflater === null ? pipeline(body, collect) : pipeline(body, inflater, collect)).catch((error: unknown) => {
    throw isZlibError(error) ? new BadEncoding('The body is not compressed as it says', { cause: error }) : error;
  });
  return heavy === null ? Buffer.concat(chunks, bytes) : (heavy as Buffer).subarray(0, bytes);
}

/**
 * A buffer for the whole heavy body, so its bytes are in memory only once (R27). Its unwritten part takes no memory.
 */
function gather(chunks: Buffer[], maxBytes: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(maxBytes);
  Buffer.concat(chunks).copy(whole);
  chunks.length = 0;
  return whole;
}

function inflaterFor(encoding: string | undefined, body: Readable): Transform | null {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return null;
  const create = INFLATERS.get(name);
  if (create !== undefined) return create();
  body.on('error', () => {}).destroy();
  throw new BadEncoding('The body is compressed with a method that was not accepted');
}

const INFLATERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function isZlibError(error: unknown): boolean {
  const code = errorCode(error);
  return code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR_');
}
