import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { realPath, takeLock } from '../../../state/lock.ts';
import { closeAfter } from '../../core/close-after.ts';
import { SyncError, usageError } from '../../core/errors.ts';
import { quote } from '../sql/tables.ts';
import { flush } from './copy.ts';
import { fileError } from './file-error.ts';
import { mirrorExists, openEarlier, refuseLeftLog, refuseMissing } from './open.ts';

export interface BackupReport {
  readonly db: string;
  readonly to: string;
  readonly bytes: number;
  readonly rows: number;
  readonly replaced: boolean;
}

/**
 * Copies a mirror of this or an earlier version into one file, as of one instant, while a sync may be writing. An
 * earlier backup stays until the new one is complete and intact.
 * @throws SyncError
 */
export async function backUp(path: string, to: string, signal: AbortSignal): Promise<BackupReport> {
  refuseMissing(path);
  refuseTarget(path, to);
  const real = realPath(to);
  const lock = takeLock(to, { isReplaced: true });
  const beside = join(dirname(real), `.${basename(real)}.backup`);
  const remove = (): void => {
    for (const end of ['', '-journal']) rmSync(`${beside}${end}`, { force: true });
  };
  try {
    // What a killed backup has left.
    remove();
    // SQLite would let everyone read it meanwhile.
    closeSync(openSync(beside, 'wx', 0o600));
    await copyPages(path, beside, signal);
    const rows = finish(beside, path);
    const { size: bytes } = statSync(beside);
    const replaced = mirrorExists(to);
    chmodSync(beside, statSync(path).mode & 0o777);
    flush(beside);
    renameSync(beside, real);
    return { db: path, to, bytes, rows, replaced };
  } catch (error) {
    throw fileError(to, error);
  } finally {
    remove();
    lock.release();
  }
}

/** @throws SyncError `usage` for a place that holds anything but an earlier backup */
function refuseTarget(path: string, to: string): void {
  const refuse = (why: string): SyncError => usageError(`${to} ${why}: name another file for the backup`);
  const there = statSync(to, ABSENT);
  if (statSync(dirname(to), ABSENT)?.isDirectory() !== true) throw refuse('is in a folder that does not exist');
  if (there?.isDirectory() === true) throw refuse('is a folder');
  refuseLeftLog(to);
  if (there === undefined || there.size === 0) return;
  const { dev, ino } = statSync(path);
  if (there.dev === dev && there.ino === ino) throw refuse('is the mirror itself');
  if (['-wal', '-shm'].some((end) => existsSync(realPath(to) + end)))
    throw refuse('is a mirror in use, with a -wal or -shm file');
  try {
    openEarlier(to).connection.close();
  } catch (cause) {
    throw usageError(refuse('is not the backup of a mirror').message, { cause });
  }
}

const ABSENT = { throwIfNoEntry: false } as const;

/** A megabyte of SQLite's usual pages: few enough that signals are handled in between (R27). */
const PAGES_AT_ONCE = 256;

/** The read transaction keeps the copy at one instant: without it, each commit would restart it. */
async function copyPages(path: string, to: string, signal: AbortSignal): Promise<void> {
  await closeAfter(openEarlier(path).connection, async (connection) => {
    connection.exec('begin');
    connection.prepare('select count(*) from sqlite_schema').get();
    await connection.backup(to, {
      progress() {
        if (signal.aborted)
          throw new SyncError('signal', 'stopped before the backup was complete: nothing was changed');
        return PAGES_AT_ONCE;
      },
    });
  });
}

/**
 * Takes the copy out of WAL mode, so that readers need no other file beside it, and checks it.
 * @returns its rows
 * @throws SyncError `run` if the mirror is damaged
 */
function finish(copy: string, path: string): number {
  const connection = new Database(copy);
  try {
    connection.pragma('journal_mode = delete');
    const found = connection.pragma('quick_check(1)', { simple: true });
    if (found !== 'ok') throw new SyncError('run', `${path} is damaged (${found}): restore it from an earlier backup`);
    const tables = connection.prepare<[], string>(TABLES).pluck().all();
    const counts = tables.map((name) => `select count(*) n from ${quote(name)}`).join(' union all ');
    return Number(connection.prepare(`select sum(n) from (${counts})`).pluck().get());
  } finally {
    connection.close();
  }
}

const TABLES = "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'";
