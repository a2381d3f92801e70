import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Each test file has its own folders, so no test writes to the user's or sees another's quota or replicas. */
const home = mkdtempSync(join(tmpdir(), 'obsync-state-'));
Object.assign(process.env, { XDG_STATE_HOME: home, XDG_CACHE_HOME: join(home, 'cache') });
afterAll(() => rmSync(home, { recursive: true, force: true }));
