import { statSync } from 'node:fs';
import { SyncError } from '../core/errors.ts';
import { isDamage, openEarlier } from '../destination/sqlite/open.ts';
import type { SqlRow } from '../page-data/sql.ts';
import { mirrorReplaced } from './errors.ts';

/** `server_time` is the last run's: the latest of all would stay wrong after the source's clock was wrong once. */
export const SELECT_STATE = `select cursor_key,
  (select json_group_object(env_id, mirrored_at) from mirror_environments) as clocks,
  (select server_time from sync_runs where server_time is not null order by id desc limit 1) as server_time from mirror`;

export type MirrorFingerprint = ReturnType<typeof fingerprintOf>;

/**
 * A check that rejects every request once the mirror's file was replaced, removed, or overwritten by another mirror or
 * an earlier copy. SQLite does not notice: it keeps reading the file it has open, and mixes pages of two mirrors.
 * `current` is the state that the open connection sees, the same object until a commit.
 * @throws HttpError 503
 */
export function createReplacementCheck(path: string, current: () => MirrorFingerprint): () => void {
  const opened = fileStatus(path);
  let key: string | null = null;
  let checked = opened.content;
  let isOverwritten = false;
  const isSame = (): boolean => {
    const known = unlessOther(current);
    const found = unlessOther(() => readFreshly(path));
    // A commit in the meantime gives another state of the same mirror.
    if (unlessOther(current) !== known) return isSame();
    return known !== null && found?.text === known.text && (key === null || found.key === key);
  };
  return () => {
    const { place, content } = fileStatus(path);
    if (place !== opened.place) throw mirrorReplaced();
    if (content !== checked) isOverwritten ||= !isSame();
    checked = content;
    if (isOverwritten) throw mirrorReplaced();
    key ??= current().key;
  };
}

function fileStatus(path: string): { readonly place: string; readonly content: string } {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {};
  return { place: `${dev} ${ino}`, content: `${size} ${mtimeNs}` };
}

/** The fingerprint of the row that `SELECT_STATE` found; of an empty mirror there is none. */
export const fingerprintOf = (mirror: SqlRow | undefined) => ({
  text: JSON.stringify(mirror),
  /** The mirror's own key; null while it has none. */
  key: mirror?.['cursor_key']?.toString() ?? null,
});

/** The state in the file, read by a new connection, which has no cached pages. */
function readFreshly(path: string): MirrorFingerprint {
  const { connection } = openEarlier(path);
  try {
    return fingerprintOf(connection.prepare<[], SqlRow>(SELECT_STATE).get());
  } finally {
    connection.close();
  }
}

/** The state that `read` returns; null if the file, which has changed, is not a mirror of this version any more. */
function unlessOther(read: () => MirrorFingerprint): MirrorFingerprint | null {
  try {
    return read();
  } catch (error) {
    if (isOtherDatabase(error)) return null;
    throw error;
  }
}

/** Whether it is another database, or has other tables. Beside the old file's WAL, SQLite calls a new file damaged. */
function isOtherDatabase(error: unknown): boolean {
  if (isDamage(error)) return true;
  return error instanceof SyncError ? error.cause === undefined : (error as { code?: unknown }).code === 'SQLITE_ERROR';
}
