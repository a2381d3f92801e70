import type { Arguments } from 'yargs';
import { saysPassword } from '../settings/addresses/mirror-address.ts';
import { OptionError } from '../settings/option-error.ts';
import { flagValue, type SettingsByFlag } from './settings.ts';

/** The options that may name a mirror in PostgreSQL. */
const ADDRESSES = ['db', 'to'] as const;

/** Variables that may hold an address with its password: only the user and root can read them. */
const PRIVATE: readonly string[] = ADDRESSES.map((name) => `OBSYNC_${name.toUpperCase()}`);

/**
 * Refuses two mirrors, and a password where other users of the machine can read it: on the command line, or in a config file.
 * @throws OptionError
 */
export function checkMirror(args: Arguments, argv: readonly string[], settingsByFlag: SettingsByFlag): void {
  const origin = (name: string): string | undefined =>
    flagValue(argv, `--${name}`) === undefined ? settingsByFlag.get(name)?.from : 'the command line';
  for (const name of ADDRESSES) {
    const [value, from] = [args[name], origin(name)];
    if (typeof value !== 'string' || from === undefined || PRIVATE.includes(from) || !saysPassword(value)) continue;
    throw new OptionError(
      name,
      `--${name} holds a password, which others can read in ${from}: leave it out there, and set PGPASSWORD, use ~/.pgpass or a service file, ${
        name === 'db' ? 'or put the whole address into OBSYNC_DB or into a file for --db-file' : 'or set OBSYNC_TO'
      }`,
    );
  }
  if (args['db-file'] !== undefined && origin('db') !== undefined)
    throw new OptionError(
      'dbFile',
      `two mirrors: one by --db, one by --db-file ${args['db-file']}: leave one of them out`,
    );
}
