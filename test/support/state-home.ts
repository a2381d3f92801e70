import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Every test file has a state folder of its own: no test writes into the user's, or learns from another what a quota has left. */
const home = mkdtempSync(join(tmpdir(), 'obsync-state-'));
process.env['XDG_STATE_HOME'] = home;
afterAll(() => rmSync(home, { recursive: true, force: true }));
