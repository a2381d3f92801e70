import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyMirror } from './copy-mirror.ts';
import type { MirrorStore } from './mirror-store.ts';
import { openSqliteTarget } from './sqlite/copy.ts';
import { fileError } from './sqlite/file-error.ts';

const NEVER = new AbortController().signal;

/** Calls `use` with the mirror as an SQLite file, its own or a temporary copy; `signal` stops the copying. */
export async function withMirrorFile<Result>(
  store: MirrorStore,
  use: (path: string) => Promise<Result>,
  signal: AbortSignal = NEVER,
): Promise<Result> {
  if (store.file !== null) return use(store.file);
  const folder = mkdtempSync(join(tmpdir(), 'obsync-copy-'));
  const path = join(folder, 'mirror.db');
  try {
    await copyMirror(
      store,
      { display: path, openCopyTarget: async () => openSqliteTarget(path) },
      { signal, onProgress: () => {} },
    );
    return await use(path);
  } catch (error) {
    throw fileError(path, error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
