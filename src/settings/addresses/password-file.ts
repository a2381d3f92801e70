import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../../core/errors.ts';
import { readTextFile } from '../read-text-file.ts';
import { homeFolder } from './home-folder.ts';

/** Who connects to which database. */
export interface DatabaseLogin {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * The password of a login in the password file of PostgreSQL's own programs: of the first line that fits. Null when no
 * line does, or when there is no such file.
 * @throws SyncError `usage` for a file that others may read, which those programs ignore as well
 */
export function findPassword(login: DatabaseLogin, given: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const path = given ?? usualFile(env);
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (mode === undefined && given === undefined) return null;
  if (mode !== undefined && process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new SyncError('usage', `the password file ${path} can be read by other users: run chmod 600 ${path}`);
  const wanted = [login.host, String(login.port), login.database, login.user];
  const lines = readTextFile(path)
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'));
  for (const fields of lines.map(fieldsOf)) {
    const fits = wanted.every((value, i) => fields[i] === '*' || fields[i] === value || isOtherName(value, fields[i]));
    if (fits && fields[4] !== undefined) return fields[4];
  }
  return null;
}

function usualFile(env: NodeJS.ProcessEnv): string {
  return process.platform === 'win32'
    ? join(env['APPDATA'] ?? homeFolder(env), 'postgresql', 'pgpass.conf')
    : join(homeFolder(env), '.pgpass');
}

/** A Unix socket is `localhost` in the file, whatever folder it is in. */
const isOtherName = (value: string, field: string | undefined): boolean =>
  value.startsWith('/') && field === 'localhost';

/** `host:port:database:user:password`; a backslash takes a colon or a backslash as it is. */
function fieldsOf(line: string): string[] {
  const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) =>
    field.replaceAll(/\\(.)/g, '$1'),
  );
  // What follows the fourth colon is the password, colons included.
  const before = /^(?:(?:\\.|[^:\\])*:){4}/.exec(line)?.[0].length;
  return before === undefined
    ? fields.slice(0, 4)
    : [...fields.slice(0, 4), line.slice(before).replaceAll(/\\(.)/g, '$1')];
}
