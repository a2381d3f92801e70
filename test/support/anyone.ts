import { cpSync, existsSync, lchownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A user whom permissions bind, as nobody's are those of root. */
const NOBODY = 65_534;

/** Whose permissions a program gets that file permissions have to bind: those of the tests' own user, unless that is root. */
export const ANYONE = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

export interface Installation {
  readonly root: string;
  readonly node: string;
  /** Removes what was copied. */
  remove(): void;
}

/**
 * An installation that `ANYONE` can run: the clone itself, unless the tests run as root. Then it is a copy of the program, what it needs and
 * these further folders, in a place and with permissions that do not depend on those of the clone.
 */
export function installForAnyone(...folders: readonly string[]): Installation {
  if (ANYONE.uid === undefined) return { ...installationAt(ROOT), remove: () => {} };
  const root = mkdtempSync(join(tmpdir(), 'obsync-anyone-'));
  copyForAnyone(ROOT, root, ['package.json', 'schema', 'node_modules/node', ...packages(), ...folders]);
  return { ...installationAt(root), remove: () => rmSync(root, { recursive: true }) };
}

/** Copies these files and folders of a folder, for tests that run as root. `ANYONE` owns the copies. */
export function copyForAnyone(from: string, to: string, paths: readonly string[]): void {
  // Relative links stay relative: `ANYONE` may be unable to enter the folder that they were copied from.
  for (const path of paths) cpSync(join(from, path), join(to, path), { recursive: true, verbatimSymlinks: true });
  giveToAnyone(to);
}

/** Lets `ANYONE` own a folder and all that is in it. */
export function giveToAnyone(folder: string): void {
  if (ANYONE.uid === undefined) return;
  for (const path of ['', ...readdirSync(folder, { recursive: true })])
    lchownSync(join(folder, String(path)), ANYONE.uid, ANYONE.gid);
}

function installationAt(root: string): Omit<Installation, 'remove'> {
  return { root, node: join(root, 'node_modules/node/bin/node') };
}

/** The folders of the packages that the program needs when it runs. */
function packages(): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(join(ROOT, path)))
    .map(([path]) => path);
}
