import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { readTextFile } from '../read-text-file.ts';

export interface DatabaseLogin {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * The password of a login from the first matching line of the password file that PostgreSQL's own programs use. Null if
 * no line matches or there is no such file.
 * @throws SyncError `usage` if others can read the file; PostgreSQL's programs ignore it then
 */
export function findPassword(login: DatabaseLogin, given: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const path = given ?? defaultFile(env);
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (mode === undefined && given === undefined) return null;
  if (mode !== undefined && process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw usageError(`the password file ${path} can be read by other users: run chmod 600 ${path}`);
  const wanted = [login.host, String(login.port), login.database, login.user];
  const lines = readTextFile(path)
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'));
  for (const fields of lines.map(fieldsOf)) {
    const fits = wanted.every(
      (value, i) => fields[i] === '*' || fields[i] === value || isSocketAlias(value, fields[i]),
    );
    if (fits && fields[4] !== undefined) return fields[4];
  }
  return null;
}

/** The user's home folder, where PostgreSQL's own programs look for their files. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return env['HOME'] || homedir();
}

function defaultFile(env: NodeJS.ProcessEnv): string {
  return process.platform === 'win32'
    ? join(env['APPDATA'] ?? homeFolder(env), 'postgresql', 'pgpass.conf')
    : join(homeFolder(env), '.pgpass');
}

/** The file calls a Unix socket `localhost`, whatever its folder. */
const isSocketAlias = (value: string, field: string | undefined): boolean =>
  value.startsWith('/') && field === 'localhost';

/** `host:port:database:user:password`; a backslash escapes a colon or a backslash. The password may contain colons. */
const LINE = new RegExp(`^${String.raw`((?:\\.|[^:\\])*):`.repeat(4)}(.*)$`, 's');

function fieldsOf(line: string): string[] {
  const [, ...fields] = LINE.exec(line) ?? [];
  return fields.map((field) => field.replaceAll(/\\(.)/g, '$1'));
}
