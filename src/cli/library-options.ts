import type { Arguments } from 'yargs';
import { isOptionName } from '../settings/check-options.ts';
import type { MirrorOptions, SyncOptions } from '../settings/options.ts';
import type { CommandIo } from './command.ts';
import { OPTIONS } from './options.ts';
import { keyOf } from './settings.ts';

/** The options of a command line under the library's names: `--page-size` is `pageSize`. Options that are not set, or that only a command has, are left out. */
export function libraryOptions(args: Arguments): Readonly<Record<string, unknown>> {
  const given = Object.keys(OPTIONS).filter(
    (name) => args[name] !== undefined && isOptionName(keyOf(name)) && !isReplaced(name, args),
  );
  return Object.fromEntries(given.map((name) => [keyOf(name), args[name]]));
}

/** Where the mirror of a command is. */
export function mirrorOptions(args: Arguments): MirrorOptions {
  const { db, dbFile } = libraryOptions(args) as MirrorOptions;
  return { db, dbFile };
}

/** The usual mirror is not meant when a file says where another one is. */
const isReplaced = (name: string, args: Arguments): boolean => name === 'db' && args['db-file'] !== undefined;

/** The options of a command that sends requests to the service, with the token (R25). */
export function serviceOptions(args: Arguments, { env }: CommandIo): SyncOptions {
  // The library checks the values.
  return { ...libraryOptions(args), token: env['OBSYNC_TOKEN'], tokenFrom: 'OBSYNC_TOKEN' } as unknown as SyncOptions;
}
