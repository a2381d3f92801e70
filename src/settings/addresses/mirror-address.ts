import type { MirrorAddress } from '../../destination/mirror-address.ts';
import { OptionError, readOption } from '../option-error.ts';
import { OPTIONS } from '../option-table.ts';
import type { MirrorOptions } from '../options.ts';
import { readTextFile } from '../read-text-file.ts';
import { postgresAddress, warningsOfAddress } from './postgres-address.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/**
 * The address of the mirror, as it was given or as its file says it; it may hold a password. `addressOf` reads it.
 * @throws OptionError
 * @throws SyncError `usage`
 */
export function givenAddress({ db, dbFile }: MirrorOptions): string {
  if (dbFile === undefined) return checked('db', db ?? OPTIONS.db.default);
  if (db !== undefined)
    throw new OptionError('dbFile', `two mirrors: one by --db, one in the file ${dbFile}: leave one of them out`);
  const given = readTextFile(dbFile).trim();
  if (given === '') throw new OptionError('dbFile', `${dbFile} is empty: write the address of the mirror into it`);
  return checked('dbFile', given);
}

function checked(option: string, given: string): string {
  readOption(option, () => addressOf(given));
  return given;
}

/**
 * The mirror's file, for what works on files alone.
 * @throws OptionError when the mirror is in PostgreSQL
 * @throws SyncError `usage`
 */
export function givenFile(options: MirrorOptions, what: string): string {
  const address = addressOf(givenAddress(options));
  if (address.kind === 'file') return address.path;
  throw new OptionError(
    options.dbFile === undefined ? 'db' : 'dbFile',
    `${what} needs a mirror in a file, and ${address.display} is in PostgreSQL: make one with \`obsync copy --to FILE\`, and name it with --db`,
  );
}

/** Reads one address. @throws SyncError `usage` */
export function addressOf(given: string, env: NodeJS.ProcessEnv = process.env): MirrorAddress {
  if (isPostgresUrl(given)) return postgresAddress(parsePostgresUrl(given), env);
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(given)?.[1];
  // Whatever follows may hold a password, so that no message repeats it.
  if (scheme !== undefined)
    throw new OptionError(
      'db',
      `a mirror is a file or in PostgreSQL, not ${scheme}://…: write a path, or postgres://user@host/database`,
    );
  if (/(^|\s)(password|dbname)\s*=/.test(given))
    throw new OptionError('db', 'an address in PostgreSQL is a URL: write postgres://user@host/database');
  return { kind: 'file', path: given, display: given };
}

/** Whether this is meant to be an address in PostgreSQL, valid or not. */
function isPostgresUrl(given: string): boolean {
  return /^postgres(ql)?:/i.test(given);
}

/**
 * Warnings of addresses that are valid but probably a mistake, each once. One that is not valid is refused by whoever
 * reads it.
 */
export function warningsOfAddresses(given: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const warnings = given.filter(isPostgresUrl).flatMap((each) => {
    try {
      return warningsOfAddress(parsePostgresUrl(each), env);
    } catch {
      return [];
    }
  });
  return [...new Set(warnings)];
}

/** Whether an address says a password, which other users of the machine can read on a command line. */
export function saysPassword(given: string): boolean {
  return isPostgresUrl(given) && parsePostgresUrl(given).has('password');
}
