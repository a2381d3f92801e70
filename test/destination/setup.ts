import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { performAtOnce } from '../../src/destination/sqlite/driver.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { claimMirror } from '../../state/run-log.ts';
import { testFolder } from '../support/test-folder.ts';

/** A new mirror file of a source, until the test ends. */
export function claimedMirror(quietMs = 0): MirrorFile {
  const mirror = openForWriting(join(testFolder(), 'obsync.db'), quietMs);
  onTestFinished(() => void mirror.connection.close());
  performAtOnce(mirror, claimMirror('http://localhost', mirror.path));
  return mirror;
}
