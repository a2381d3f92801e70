import { statSync } from 'node:fs';
import { SyncError } from '../core/errors.ts';
import { openEarlier } from '../destination/sqlite/open.ts';
import { isDamage } from './damage.ts';
import { mirrorReplaced } from './errors.ts';

/** The row by which a state of a mirror is known. */
export interface MirrorFingerprint {
  /** A text with all of it. */
  readonly text: string;
  /** The key of the mirror itself; null while it has none. */
  readonly key: string | null;
}

/**
 * Refuses every request once the mirror's file was replaced, removed, or overwritten by another mirror or an earlier
 * copy. SQLite notices neither: it goes on reading the file that it has open, and takes pages of two mirrors for one.
 * `current` is the state that the open connection sees, the same object until a commit; `look` reads the state of a
 * connection.
 * @throws HttpError 503
 */
export function createReplacementCheck(
  path: string,
  current: () => MirrorFingerprint,
  look: (mirror: ReturnType<typeof openEarlier>) => MirrorFingerprint,
): () => void {
  const opened = fileStatus(path);
  let key: string | null = null;
  let checked = opened.content;
  let isOverwritten = false;
  const isSame = (): boolean => {
    const known = current();
    const found = readFreshly(path, look);
    // A commit in between gives another state of the same mirror.
    if (current() !== known) return isSame();
    return found?.text === known.text && (key === null || found.key === key);
  };
  return () => {
    const { place, content } = fileStatus(path);
    if (place !== opened.place) throw mirrorReplaced();
    key ??= current().key;
    if (content !== checked) isOverwritten ||= !isSame();
    checked = content;
    if (isOverwritten) throw mirrorReplaced();
  };
}

function fileStatus(path: string): { readonly place: string; readonly content: string } {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {};
  return { place: `${dev} ${ino}`, content: `${size} ${mtimeNs}` };
}

/**
 * The state in the file, read by a new connection, which remembers no page; null if there is no mirror of this version
 * to be read.
 */
function readFreshly(path: string, look: Parameters<typeof createReplacementCheck>[2]): MirrorFingerprint | null {
  try {
    const mirror = openEarlier(path);
    try {
      return look(mirror);
    } finally {
      mirror.connection.close();
    }
  } catch (error) {
    if (isOtherDatabase(error)) return null;
    throw error;
  }
}

/**
 * Whether the file is another database or has other tables. SQLite takes a new file for a damaged one while the log and
 * the index of the old one lie beside it.
 */
function isOtherDatabase(error: unknown): boolean {
  if (isDamage(error)) return true;
  return error instanceof SyncError ? error.cause === undefined : (error as { code?: unknown }).code === 'SQLITE_ERROR';
}
