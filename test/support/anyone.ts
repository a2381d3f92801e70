import { cpSync, existsSync, lchownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** An unprivileged user. File permissions do not bind root. */
const NOBODY = 65_534;

/** The user for programs that file permissions must bind: the tests' own, unless that is root. */
export const ANYONE = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

export interface Installation {
  readonly root: string;
  readonly node: string;
  /** Removes the copy, if there is one. */
  remove(): void;
}

/**
 * An installation that `ANYONE` can run: the clone itself or, if the tests run as root, a copy of the program, its
 * dependencies and these folders. The copy does not depend on the location and permissions of the clone.
 */
export function installForAnyone(...folders: readonly string[]): Installation {
  if (ANYONE.uid === undefined) return { ...installationAt(ROOT), remove: () => {} };
  const root = mkdtempSync(join(tmpdir(), 'obsync-anyone-'));
  copyForAnyone(ROOT, root, ['package.json', 'schema', 'node_modules/node', ...packages(), ...folders]);
  return { ...installationAt(root), remove: () => rmSync(root, { recursive: true }) };
}

/** Copies files and folders for tests that run as root. `ANYONE` owns the copies. */
export function copyForAnyone(from: string, to: string, paths: readonly string[]): void {
  // Links stay relative, because `ANYONE` may not be allowed to enter the original folder.
  for (const path of paths) cpSync(join(from, path), join(to, path), { recursive: true, verbatimSymlinks: true });
  giveToAnyone(to);
}

/** Makes `ANYONE` the owner of a folder and its content. */
export function giveToAnyone(folder: string): void {
  if (ANYONE.uid === undefined) return;
  for (const path of ['', ...readdirSync(folder, { recursive: true })])
    lchownSync(join(folder, String(path)), ANYONE.uid, ANYONE.gid);
}

function installationAt(root: string): Omit<Installation, 'remove'> {
  return { root, node: join(root, 'node_modules/node/bin/node') };
}

/** The folders of the program's runtime dependencies. */
function packages(): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(join(ROOT, path)))
    .map(([path]) => path);
}
