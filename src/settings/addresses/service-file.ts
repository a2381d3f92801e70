import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { readTextFile } from '../read-text-file.ts';
import { homeFolder } from './password-file.ts';
import { type ConnectionKeywords, SERVICE_PARAMETERS } from './postgres-url.ts';

/** The keywords of a service in the service files. @throws SyncError `usage` */
export function readService(name: string, env: NodeJS.ProcessEnv): ConnectionKeywords {
  const files = serviceFiles(env);
  for (const path of files) {
    const found = sectionOf(readTextFile(path), name, path);
    if (found !== null) return found;
  }
  const where = files.length === 0 ? 'there is no service file: set PGSERVICEFILE' : `it is not in ${files.join(', ')}`;
  throw usageError(`the service ${name} is unknown: ${where}`);
}

/** The user's file takes precedence over the machine's. */
function serviceFiles(env: NodeJS.ProcessEnv): string[] {
  const ofMachine = env['PGSYSCONFDIR'] ? [join(env['PGSYSCONFDIR'], 'pg_service.conf')] : [];
  const ofUser = env['PGSERVICEFILE'] || join(homeFolder(env), '.pg_service.conf');
  // A file that a variable names must exist.
  return [
    ...(env['PGSERVICEFILE'] || existsSync(ofUser) ? [ofUser] : []),
    ...ofMachine.filter((path) => existsSync(path)),
  ];
}

/** The lines between `[name]` and the next heading. */
function sectionOf(text: string, name: string, path: string): ConnectionKeywords | null {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const start = lines.indexOf(`[${name}]`);
  if (start < 0) return null;
  const end = lines.findIndex((line, i) => i > start && line.startsWith('['));
  const section = lines
    .slice(start + 1, end < 0 ? undefined : end)
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(section.map((line) => parameterOf(line, path)));
}

/** The line may contain a password, so no message repeats it. */
function parameterOf(line: string, path: string): [string, string] {
  const [, name, value] = /^([a-z_]+)=(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw usageError(`${path} has a line that is not name=value, without spaces before the =`);
  if (SERVICE_PARAMETERS.includes(name)) return [name, value];
  throw usageError(
    `${path} has the parameter ${name}, which obsync does not support (supported: ${SERVICE_PARAMETERS.join(', ')})`,
  );
}
