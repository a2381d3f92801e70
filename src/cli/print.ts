import type { Writable } from 'node:stream';

/**
 * Writes texts at the reader's pace, and stops when they can no longer be written. The stream's error listener decides
 * what that means (see `program.ts`).
 */
export async function print(texts: Iterable<string> | AsyncIterable<string>, out: Writable): Promise<void> {
  for await (const text of texts) {
    const error = await new Promise((resolve) => out.write(text, resolve));
    if (error != null) return;
  }
}
