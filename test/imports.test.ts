import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CRUISER = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');

/** What the import check says of these files. */
function check(files: Readonly<Record<string, string>>): { status: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-imports-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const args = [CRUISER, '--config', join(ROOT, '.dependency-cruiser.json'), 'src'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return { status, said: `${stdout}${stderr}` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const X = 'export const x = 1;\nexport type X = 1;\n';
const IMPORTED = ['state', 'src/streams', 'src/sync', 'src/destination/sql', 'src/destination/sqlite'];

const typeFrom = (module: string): string => `import type { X } from '${module}';\nexport type Y = X;\n`;

/** By the path of a file: what it imports against the rules, its text, and what the check says of it. */
const FORBIDDEN: Readonly<Record<string, readonly [what: string, text: string, finding: string]>> = {
  'src/core/a.ts': [
    'a value into core',
    "import { x } from '../sync/x.ts';\nexport const y = x;\n",
    'core-stands-alone',
  ],
  'src/core/b.ts': ['a type alone into core', typeFrom('../sync/x.ts'), 'core-stands-alone'],
  'src/core/c.ts': ['a re-exported value into core', "export { x } from '../sync/x.ts';\n", 'core-stands-alone'],
  'src/core/d.ts': ['a re-exported type into core', "export type { X } from '../sync/x.ts';\n", 'core-stands-alone'],
  'src/core/e.ts': [
    'a dynamic import into core',
    "export const y = () => import('../sync/x.ts');\n",
    'core-stands-alone',
  ],
  'src/sync/a.ts': ['the catalogue into sync', typeFrom('../streams/x.ts'), 'sync'],
  'src/sync/b.ts': ['the state store of one database into sync', typeFrom('../../state/x.ts'), 'sync'],
  'src/sync/c.ts': ['drizzle into sync', typeFrom('drizzle-orm'), 'no-database-behind-the-ports'],
  'src/sync/d.ts': ['a driver into sync', typeFrom('better-sqlite3'), 'no-database-behind-the-ports'],
  'src/verify/a.ts': ['the catalogue into verify', typeFrom('../streams/x.ts'), 'verify'],
  'src/verify/b.ts': ['the state store of one database into verify', typeFrom('../../state/x.ts'), 'verify'],
  'src/verify/c.ts': ['more of sync than the loop of one stream into verify', typeFrom('../sync/x.ts'), 'verify'],
  'src/verify/d.ts': ['drizzle into verify', typeFrom('drizzle-orm'), 'no-database-behind-the-ports'],
  'src/destination/postgres/a.ts': ['one destination into another', typeFrom('../sqlite/x.ts'), 'destinations-apart'],
};

/** Statements are shared by destinations, and a folder may import from itself. */
const ALLOWED = {
  'src/destination/sqlite/y.ts': `${typeFrom('../sql/x.ts')}export type { X as Z } from './x.ts';\n`,
  'src/destination/postgres/y.ts': typeFrom('../sql/x.ts'),
};

let found: ReturnType<typeof check>;

beforeAll(() => {
  const imported = IMPORTED.map((path) => [`${path}/x.ts`, X]);
  const forbidden = Object.entries(FORBIDDEN).map(([path, [, text]]) => [path, text]);
  found = check(Object.fromEntries([...imported, ...forbidden, ...Object.entries(ALLOWED)]));
});

test.each(Object.entries(FORBIDDEN).map(([path, [what, , rule]]) => [what, rule, path]))(
  'the import check finds %s',
  (_, rule, path) => {
    expect(found.said).toContain(` ${rule}: ${path} → `);
  },
);

test('the import check fails for each forbidden import, and for no other', () => {
  expect(found.status).toBe(Object.keys(FORBIDDEN).length);
  expect(found.said.match(/ → /g)).toHaveLength(Object.keys(FORBIDDEN).length);
});

test('the import check prints nothing else if all imports are allowed', () => {
  const { status, said } = check({ 'src/core/y.ts': 'export const y = 1;\n' });
  expect({ status, said: said.trim() }).toEqual({
    status: 0,
    said: expect.stringMatching(/^\S* ?✔ no dependency violations found \(1 modules, 0 dependencies cruised\)\S*$/),
  });
});
