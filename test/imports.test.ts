import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CRUISER = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');

/** What the import check says of these files. */
function check(files: Readonly<Record<string, string>>): { status: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-imports-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const args = [CRUISER, '--config', join(ROOT, '.dependency-cruiser.json'), 'src'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

test.each([
  ['a value', "import { x } from '../sync/x.ts';\nexport const y = x;\n"],
  ['a type alone', "import type { X } from '../sync/x.ts';\nexport type Y = X;\n"],
  ['a re-exported value', "export { x } from '../sync/x.ts';\n"],
  ['a re-exported type', "export type { X } from '../sync/x.ts';\n"],
  ['a dynamically imported module', "export const y = () => import('../sync/x.ts');\n"],
])('the import check finds a forbidden import of %s', (_, text) => {
  const files = { 'src/sync/x.ts': 'export const x = 1;\nexport type X = 1;\n', 'src/core/y.ts': text };
  const { status, said } = check(files);
  expect({ status, said }).toEqual({
    status: 1,
    said: expect.stringContaining('core-stands-alone: src/core/y.ts → src/sync/x.ts'),
  });
});

test.each([
  ['the catalogue', '../streams/x.ts', 'sync: src/sync/y.ts → src/streams/x.ts'],
  ['the state store of one database', '../../state/x.ts', 'sync: src/sync/y.ts → state/x.ts'],
  ['drizzle', 'drizzle-orm', 'no-database-behind-the-ports: src/sync/y.ts → drizzle-orm'],
  ['a driver', 'better-sqlite3', 'no-database-behind-the-ports: src/sync/y.ts → better-sqlite3'],
])('the import check keeps %s out of sync, types included', (_, module, finding) => {
  const files = {
    'state/x.ts': 'export type X = 1;\n',
    'src/streams/x.ts': 'export type X = 1;\n',
    'src/sync/y.ts': `import type { X } from '${module}';\nexport type Y = X;\n`,
  };
  expect(check(files)).toEqual({ status: 1, said: expect.stringContaining(finding) });
});

test.each([
  ['the catalogue', '../streams/x.ts', 'verify: src/verify/y.ts → src/streams/x.ts'],
  ['the state store of one database', '../../state/x.ts', 'verify: src/verify/y.ts → state/x.ts'],
  ['all of sync but the loop of one stream', '../sync/x.ts', 'verify: src/verify/y.ts → src/sync/x.ts'],
  ['drizzle', 'drizzle-orm', 'no-database-behind-the-ports: src/verify/y.ts → drizzle-orm'],
])('the import check keeps %s out of verify, types included', (_, module, finding) => {
  const files = {
    'state/x.ts': 'export type X = 1;\n',
    'src/streams/x.ts': 'export type X = 1;\n',
    'src/sync/x.ts': 'export type X = 1;\n',
    'src/verify/y.ts': `import type { X } from '${module}';\nexport type Y = X;\n`,
  };
  expect(check(files)).toEqual({ status: 1, said: expect.stringContaining(finding) });
});

test('the import check keeps destinations apart, but lets them share statements', () => {
  const text = (module: string): string => `import type { X } from '../${module}/x.ts';\nexport type Y = X;\n`;
  const files = {
    'src/destination/sql/x.ts': 'export type X = 1;\n',
    'src/destination/sqlite/x.ts': 'export type X = 1;\n',
    'src/destination/sqlite/y.ts': `${text('sql')}${text('sqlite').replaceAll(/X|Y/g, '$&Z').replace('XZ }', 'X as XZ }')}`,
    'src/destination/postgres/y.ts': text('sql'),
  };
  expect(check(files)).toMatchObject({ status: 0 });
  expect(check({ ...files, 'src/destination/postgres/y.ts': text('sqlite') })).toEqual({
    status: 1,
    said: expect.stringContaining('destinations-apart: src/destination/postgres/y.ts → src/destination/sqlite/x.ts'),
  });
});

test('the import check prints nothing else if all imports are allowed', () => {
  const { status, said } = check({ 'src/core/y.ts': 'export const y = 1;\n' });
  expect({ status, said: said.trim() }).toEqual({
    status: 0,
    said: expect.stringMatching(/^\S* ?✔ no dependency violations found \(1 modules, 0 dependencies cruised\)\S*$/),
  });
});
