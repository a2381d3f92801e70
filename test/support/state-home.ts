import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Each test file has its own state folder, so no test writes to the user's or sees another's quota. */
const home = mkdtempSync(join(tmpdir(), 'obsync-state-'));
process.env['XDG_STATE_HOME'] = home;
afterAll(() => rmSync(home, { recursive: true, force: true }));
