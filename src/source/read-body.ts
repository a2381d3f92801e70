import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { collectGarbage } from './collect-garbage.ts';

/** The body, decompressed, is longer than it may be. */
export class BodyTooLarge extends Error {
  constructor(mostBytes: number) {
    super(`The body is longer than ${mostBytes} bytes`);
    this.name = 'BodyTooLarge';
  }
}

/** The body is compressed in a way nobody asked for, or not as it says. */
export class BadEncoding extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BadEncoding';
  }
}

export interface Bounds {
  /** A body may hold so much. */
  readonly mostBytes: number;
  /** With more than this it is read on when `onHeavy` says so. */
  readonly heavyBytes: number;
  onHeavy(): Promise<void>;
}

/** After so many bytes of a heavy body the chunks that they came in are freed (R27). */
const COLLECTED_BYTES = 8 * 1024 * 1024;

/**
 * Reads a body whole, decompressing it as `encoding` (the `content-encoding` header) says. Stops and destroys it with
 * `BodyTooLarge` as soon as it holds more than it may, so that neither a runaway nor a bomb fills the memory.
 * Throws `BadEncoding`, or what the connection failed with.
 */
export async function readBody(body: Readable, encoding: string | undefined, bounds: Bounds): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let heavy: Buffer | null = null;
  let bytes = 0;
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      if (bytes + chunk.length > bounds.mostBytes) throw new BodyTooLarge(bounds.mostBytes);
      if (heavy === null && bytes + chunk.length > bounds.heavyBytes) {
        await bounds.onHeavy();
        heavy = gather(chunks, bounds.mostBytes);
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

/** What a heavy body has room in; what is not yet written of it takes no memory. It is not held twice (R27). */
function gather(chunks: Buffer[], mostBytes: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(mostBytes);
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
  throw new BadEncoding('The body is compressed in a way that was not asked for');
}

const INFLATERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR_');
}
