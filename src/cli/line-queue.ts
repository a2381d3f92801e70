import { fstatSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** Lines that wait for their reader; what is more is dropped. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** How long the end waits for a reader. */
const PATIENCE_MS = 500;

export interface LineQueue {
  write(line: string): void;
  /** Resolves when all is written, or when its reader has not taken it in time. */
  end(): Promise<void>;
}

/**
 * Lines to a file descriptor that never keep their writer waiting. Neither Node's streams of files nor its threads can do that
 * for a pipe: a thread that waits for a reader keeps the process from ending. `onDropped` is told how many lines found no room
 * once there is some again.
 */
export function openLineQueue(descriptor: number, onDropped: (lines: number) => void): LineQueue {
  const kind = fstatSync(descriptor);
  // A file or a terminal takes a line at once.
  if (!kind.isFIFO() && !kind.isSocket()) {
    return { write: (line) => writeTo(descriptor, line), end: async () => {} };
  }
  return queueTo(new Socket({ fd: descriptor, readable: false, writable: true }), onDropped);
}

/** A full disk takes no line, and whoever wrote it has better to do than to fail for it. */
function writeTo(descriptor: number, line: string): void {
  try {
    writeSync(descriptor, line);
  } catch {
    // There is nobody left to tell: the log itself is what failed.
  }
}

/** @internal */
export function queueTo(socket: Socket, onDropped: (lines: number) => void): LineQueue {
  let dropped = 0;
  // The reader has gone, and with it whoever could be told.
  socket.on('error', () => socket.destroy());
  socket.on('drain', () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  });
  return {
    write(line) {
      if (socket.writableLength > MOST_WAITING_BYTES) dropped += 1;
      else if (socket.writable) socket.write(line);
    },
    end: () => ended(socket),
  };
}

function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const impatience = setTimeout(() => socket.destroy(), PATIENCE_MS);
    const over = (): void => {
      clearTimeout(impatience);
      socket.off('close', over);
      resolve();
    };
    if (socket.destroyed || socket.writableLength === 0) over();
    else {
      socket.once('close', over);
      socket.once('drain', over);
    }
  });
}
