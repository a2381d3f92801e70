import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** The most bytes of lines that wait for a reader; further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** How long `end` waits for a reader. */
const PATIENCE_MS = 500;

interface LineQueue {
  write(line: string): void;
  /** Resolves when all lines are written, or when the reader was too slow. */
  end(): Promise<void>;
}

/**
 * Writes lines to a file descriptor without ever blocking the writer. Neither Node's file streams nor its thread pool
 * can do this for a pipe: a thread that waits for a reader keeps the process alive. Once there is room again after
 * lines were dropped, `onDropped` receives their number.
 */
export function openLineQueue(descriptor: number, onDropped: (lines: number) => void): LineQueue {
  const kind = fstatSync(descriptor);
  // A file or a terminal takes a line immediately.
  if (!kind.isFIFO() && !kind.isSocket()) return { write: (line) => writeTo(descriptor, line), end: async () => {} };
  return queueTo(new Socket({ fd: descriptor, readable: false, writable: true }), onDropped);
}

/** A full disk loses the line: the program must not fail because of its log. */
function writeTo(descriptor: number, line: string): void {
  try {
    writeSync(descriptor, line);
  } catch {
    // The log itself failed, so there is nowhere to report it.
  }
}

/** Writes a line, and waits for a reader that is slow. Like `writeTo`, it loses the line if it cannot be written. */
export function writeLineSync(descriptor: number, line: string): void {
  for (let rest = Buffer.from(line); rest.length > 0; )
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(NEVER_NOTIFIED, 0, 0, FULL_PIPE_MS);
    }
}

const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4));

/** How soon to try a full pipe again. */
const FULL_PIPE_MS = 10;

/** @internal */
export function queueTo(socket: Socket, onDropped: (lines: number) => void): LineQueue {
  let dropped = 0;
  // The reader has closed the pipe, so there is nowhere to report it.
  socket.on('error', () => socket.destroy());
  socket.on('drain', () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  });
  return {
    write(line) {
      if (socket.writableLength > MAX_WAITING_BYTES) dropped += 1;
      else if (socket.writable) socket.write(line);
    },
    async end() {
      if (socket.destroyed || socket.writableLength === 0) return;
      const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
      clearTimeout(timer);
    },
  };
}
