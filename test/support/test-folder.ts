import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

/** A new folder, removed with the state folder when the tests of the file have ended. */
export function testFolder(): string {
  return mkdtempSync(join(process.env['XDG_STATE_HOME'] ?? '', 'f-'));
}
