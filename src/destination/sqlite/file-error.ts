import { accessSync, constants } from 'node:fs';
import Database from 'better-sqlite3';
import { SyncError, usageError } from '../../core/errors.ts';

const ADVICE: Readonly<Record<string, [SyncError['recovery'], string]>> = {
  SQLITE_NOTADB: ['usage', 'is not an SQLite file: name another file with --db'],
  SQLITE_CORRUPT: ['run', 'is damaged: restore it from a backup, or move it away and sync again'],
  SQLITE_CANTOPEN: ['usage', 'cannot be opened: check that its folder exists and may be written'],
  SQLITE_READONLY: ['usage', 'cannot be written: check the permissions of the file and of its folder'],
  SQLITE_PERM: ['usage', 'cannot be opened: check its permissions'],
  SQLITE_FULL: ['run', 'cannot grow, the disk is full: make room and run again; nothing is lost'],
  SQLITE_BUSY: ['run', 'is locked by another program: close it and run again'],
  SQLITE_IOERR: ['run', 'could not be read or written: check the disk and run again'],
};

/** Turns an SQLite error into one line that says what to do; other errors are returned as they are. */
export function fileError(path: string, error: unknown): unknown {
  const said = sqliteErrorOf(error);
  if (said === null) return error;
  const [recovery, advice] = ADVICE[said.code] ??
    ADVICE[said.code.split('_').slice(0, 2).join('_')] ?? ['run', said.message];
  return new SyncError(recovery, `${path} ${advice}`, { cause: error });
}

/** Like `fileError`, for readers: without write permission, a mirror without `-wal` and `-shm` cannot be opened. */
export function readerError(path: string, error: unknown): unknown {
  const said = sqliteErrorOf(error);
  if (said === null || !/^SQLITE_(CANTOPEN|READONLY)/.test(said.code)) return fileError(path, error);
  const why = isAccessible(path, constants.R_OK)
    ? `needs -wal and -shm beside it, which this user cannot read or create: run \`obsync sync\` on the mirror, or copy it into a folder that may be written; other programs open a copy that never changes as file:${path}?immutable=1`
    : 'cannot be read: check the permissions of the file and of its folder';
  return usageError(`${path} ${why}`, { cause: error });
}

/** Whether this user may access a file or folder in this mode: `R_OK` or `W_OK` of `constants`. */
export function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Does a step whose errors say what is wrong with the file and what to do about it. */
export function attempt<Done>(path: string, step: () => Done, errorOf = fileError): Done {
  try {
    return step();
  } catch (error) {
    throw errorOf(path, error);
  }
}

/** Makes a port's method from steps on the file. */
export function withFileErrors(path: string) {
  return <Given extends unknown[], Found>(look: (...given: Given) => Found) =>
    async (...given: Given): Promise<Found> =>
      attempt(path, () => look(...given));
}

/** The SQLite error that drizzle wraps. */
function sqliteErrorOf(error: unknown): InstanceType<typeof Database.SqliteError> | null {
  if (error instanceof Database.SqliteError) return error;
  return error instanceof Error && !(error instanceof SyncError) ? sqliteErrorOf(error.cause) : null;
}
