import { chownSync, cpSync, existsSync, lchownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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
  for (const path of ['package.json', 'schema', 'node_modules/node', ...packages(), ...folders])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  chownSync(root, NOBODY, NOBODY);
  for (const path of readdirSync(root, { recursive: true })) lchownSync(join(root, String(path)), NOBODY, NOBODY);
  return { ...installationAt(root), remove: () => rmSync(root, { recursive: true }) };
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
