import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

/** Creates a folder, which is removed with the state folder after the file's tests. */
export function testFolder(): string {
  const home = process.env['XDG_STATE_HOME'];
  if (home === undefined) throw new Error('state-home.ts has not run: it is a setup file of every test');
  return mkdtempSync(join(home, 'f-'));
}
