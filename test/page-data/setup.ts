import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { mirrorEnvironments } from '../../schema/sync.ts';
import { closeWritten } from '../../src/destination/sqlite/close.ts';
import { type MirrorFile, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import type { PageReads, PageRow, PageScope } from '../../src/page-data/page-scope.ts';
import { openMirrorReads } from '../../src/server/mirror-reads.ts';
import { insert, NOW } from '../server/fixture.ts';
import { fillWorld } from './world.ts';

export const ALL: PageScope = { env: 'e', limit: null, seesTests: true };

/** A mirror with the environment `e`, and functions to read it as the page does and by SQL. */
export function mirrorOf(fill: (writing: MirrorFile) => void = fillWorld) {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-page-data-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'mirror.db');
  const writing = openForWriting(path);
  insert(writing.db, mirrorEnvironments, { env_id: 'e', mirrored_at: NOW });
  insert(writing.db, environments, { id: 'e', name: 'Environment', mirrored_at: NOW });
  fill(writing);
  closeWritten(writing);
  const seen = <Found>(look: (reads: PageReads) => Found): Found => {
    const mirror = openForReading(path);
    try {
      return openMirrorReads(mirror).read(look);
    } finally {
      mirror.connection.close();
    }
  };
  const rows = (sql: string): readonly PageRow[] => seen((reads) => reads.rows({ sql, values: {} }));
  return { path, seen, rows };
}
