import { closeWritten } from '../../src/destination/sqlite/close.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import type { PageReads, PageScope, SqlRow } from '../../src/page-data/page-scope.ts';
import { openMirrorReads } from '../../src/server/mirror-reads.ts';
import { newMirror } from '../server/fixture.ts';
import { fillWorld } from './world.ts';

export const ALL: PageScope = { env: 'e', limit: null, seesTests: true };

/** A mirror with the environment `e`, and functions to read it as the page does and by SQL. */
export function mirrorOf(fill: (writing: MirrorFile) => void = fillWorld) {
  const writing = newMirror(fill);
  const { path } = writing;
  closeWritten(writing);
  const seen = <Found>(look: (reads: PageReads) => Found): Found => {
    const mirror = openForReading(path);
    try {
      return openMirrorReads(mirror).read(look);
    } finally {
      mirror.connection.close();
    }
  };
  const rows = (sql: string): readonly SqlRow[] => seen((reads) => reads.rows({ sql, values: {} }));
  return { path, seen, rows };
}
