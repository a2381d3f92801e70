import { writeFileSync } from 'node:fs';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';

type Fill = (mirror: MirrorFile) => void;

const FILLED = new WeakMap<Fill, Buffer>();

/** Opens a new mirror that `fill` has filled: a copy of the first one, which takes a tenth of the time. */
export function openFilled(path: string, fill: Fill, prepare: Fill): MirrorFile {
  const bytes = FILLED.get(fill);
  if (bytes !== undefined) writeFileSync(path, bytes);
  const mirror = openForWriting(path);
  if (bytes === undefined) {
    prepare(mirror);
    mirror.connection.transaction(fill)(mirror);
    FILLED.set(fill, mirror.connection.serialize());
  }
  return mirror;
}
