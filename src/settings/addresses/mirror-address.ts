import type { PostgresAddress } from '../../destination/postgres/address.ts';
import type { MirrorAddress } from '../../destination/stores.ts';
import { OptionError, readOption } from '../option-error.ts';
import { OPTIONS } from '../option-table.ts';
import type { MirrorOptions } from '../options.ts';
import { readTextFile } from '../read-text-file.ts';
import { postgresAddress, warningsOfAddress } from './postgres-address.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/** The mirror's address as given or in its file; it may contain a password. @throws OptionError, SyncError `usage` */
export function givenAddress({ db, dbFile }: MirrorOptions): string {
  refuseTwoMirrors({ db, dbFile });
  const given = dbFile === undefined ? (db ?? OPTIONS.db.default) : readTextFile(dbFile).trim();
  if (dbFile !== undefined && given === '')
    throw new OptionError('dbFile', `${dbFile} is empty: write the address of the mirror into it`);
  readOption(dbFile === undefined ? 'db' : 'dbFile', () => addressOf(given));
  return given;
}

/** @throws OptionError */
export function refuseTwoMirrors({ db, dbFile }: MirrorOptions): void {
  if (db !== undefined && dbFile !== undefined)
    throw new OptionError('dbFile', `two mirrors, one in --db and one in the file ${dbFile}: pass only one`);
}

/**
 * The mirror's file, for functions that work on files only: `what` needs one, or words the whole refusal.
 * @throws OptionError if the mirror is in PostgreSQL
 * @throws SyncError `usage`
 */
export function givenFile(options: MirrorOptions, what: string | ((address: PostgresAddress) => string)): string {
  const address = addressOf(givenAddress(options));
  if (address.kind === 'file') return address.path;
  const refusal =
    typeof what === 'function'
      ? what(address)
      : `${what} needs a mirror in a file, and ${address.display} is in PostgreSQL: create one with \`obsync copy --to FILE\` and name it with --db`;
  throw new OptionError(options.dbFile === undefined ? 'db' : 'dbFile', refusal);
}

/** Parses an address. @throws SyncError `usage` */
export function addressOf(given: string, env: NodeJS.ProcessEnv = process.env): MirrorAddress {
  // SQLite ignores spaces around the name of a file: with them, the lock would be another file's (R26).
  const text = given.trim();
  if (isPostgresUrl(text)) return postgresAddress(parsePostgresUrl(text), env);
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1];
  // The rest may contain a password, so no message repeats it.
  if (scheme !== undefined)
    throw new OptionError(
      'db',
      `a mirror is a file or in PostgreSQL, not ${scheme}://…: write a path, or postgres://user@host/database`,
    );
  if (/(^|\s)(password|dbname)\s*=/.test(given))
    throw new OptionError('db', 'an address in PostgreSQL is a URL: write postgres://user@host/database');
  if (text === '' || text === ':memory:')
    throw new OptionError('db', `${JSON.stringify(given)} is not a file name: pass a path, such as obsync.db`);
  return { kind: 'file', path: text, display: text };
}

/** Whether this is meant as a PostgreSQL address, valid or not. */
function isPostgresUrl(given: string): boolean {
  return /^\s*postgres(ql)?:/i.test(given);
}

/** Warnings about valid addresses that are probably mistakes, each once. Invalid ones are refused where used. */
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

/** Whether an address contains a password, which other users of the machine can read on a command line. */
export function containsPassword(given: string): boolean {
  return isPostgresUrl(given) && parsePostgresUrl(given).has('password');
}
