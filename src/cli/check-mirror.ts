import { containsPassword, refuseTwoMirrors } from '../settings/addresses/mirror-address.ts';
import { OptionError } from '../settings/option-error.ts';
import type { CommandArguments } from './command.ts';
import type { SettingsByName } from './settings.ts';

/** The options that may name a mirror in PostgreSQL, and the alternatives for their passwords. */
const ADDRESSES = {
  db: 'or put the whole address into OBSYNC_DB or into a file for --db-file',
  to: 'or set OBSYNC_TO',
} as const;

/** Variables that may contain an address with its password: only the user and root can read them. */
const PRIVATE = ['OBSYNC_DB', 'OBSYNC_TO'];

/** Refuses two mirrors, and a password that other users can read: in arguments or a config file. @throws OptionError */
export function checkMirror(given: CommandArguments, settings: SettingsByName): void {
  for (const [name, elsewhere] of Object.entries(ADDRESSES)) {
    const { [name]: value } = given;
    const from = settings.get(name)?.from ?? 'the command line';
    if (typeof value !== 'string' || PRIVATE.includes(from) || !containsPassword(value)) continue;
    throw new OptionError(
      name,
      `--${name} contains a password, which others can read in ${from}: remove it there, and set PGPASSWORD, use ~/.pgpass or a service file, ${elsewhere}`,
    );
  }
  refuseTwoMirrors(given);
}
