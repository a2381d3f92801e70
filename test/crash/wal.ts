/** SQLite's write-ahead log: a header, then frames, each with a header and a page. */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export interface Frame {
  readonly start: number;
  readonly end: number;
  /** Whether it ends a transaction. */
  readonly commits: boolean;
}

/** The frames of one log, in order. */
export function framesOf(wal: Buffer): Frame[] {
  if (wal.length < HEADER_BYTES) return [];
  const frameBytes = FRAME_HEADER_BYTES + wal.readUInt32BE(8);
  const frames: Frame[] = [];
  for (let start = HEADER_BYTES; start + frameBytes <= wal.length; start += frameBytes) {
    if (saltOf(wal, start + 8) !== saltOf(wal, 16)) break;
    frames.push({ start, end: start + frameBytes, commits: wal.readUInt32BE(start + 4) !== 0 });
  }
  return frames;
}

/** Distinguishes a log from the previous one with the same name. */
export function saltOf(wal: Buffer, at = 16): string {
  return wal.subarray(at, at + 8).toString('hex');
}

type Loss = (wal: Buffer, frame: Frame) => Buffer;

/** The possible content of the disk if the frames of a log from one on were not synced before a power loss. */
export const LOSSES: readonly (readonly [string, Loss])[] = [
  ['cut off before', (wal, { start }) => wal.subarray(0, start)],
  ['torn in the header of', (wal, { start }) => wal.subarray(0, start + FRAME_HEADER_BYTES / 2)],
  ['torn in the page of', (wal, { start, end }) => wal.subarray(0, (start + end) >> 1)],
  ['garbled in', (wal, { start, end }) => changed(wal, (start + end) >> 1, end, (byte) => byte ^ 0x55)],
  ['zeroed from', (wal, { start }) => changed(wal, start, wal.length, () => 0)],
  ['with a hole at', (wal, { start, end }) => changed(wal, start, end, () => 0)],
];

function changed(wal: Buffer, from: number, to: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(wal);
  for (let at = from; at < to; at++) copy[at] = change(copy[at] as number);
  return copy;
}
