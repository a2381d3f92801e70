import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isSystemError, sizeOf } from './export-files.ts';
import type { ExportedFile } from './manifest.ts';

/** Whether a file still has the bytes that were written. */
export async function isIntact(folder: string, { path, bytes, sha256 }: ExportedFile): Promise<boolean> {
  const whole = join(folder, path);
  try {
    if (sizeOf(whole) !== bytes) return false;
    const digest = createHash('sha256').setEncoding('hex');
    await pipeline(createReadStream(whole, { highWaterMark: CHUNK_BYTES }), digest);
    return digest.read() === sha256;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

const CHUNK_BYTES = 1024 * 1024;
