import { OPTIONS } from '../settings/option-table.ts';
import type { MirrorOptions, SyncOptions } from '../settings/options.ts';
import type { CommandArguments, CommandIo } from './command.ts';

/** The values that the library takes. Those that are not set, or that only a command has, are left out. */
export function libraryOptions(args: CommandArguments): Readonly<Record<string, unknown>> {
  // The default mirror is not meant when a file says where another one is.
  const isReplaced = (name: string): boolean => name === 'db' && args['dbFile'] !== undefined;
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) => name in OPTIONS && value !== undefined && !isReplaced(name)),
  );
}

/** Where the mirror of a command is. */
export function mirrorOptions(args: CommandArguments): MirrorOptions {
  const { db, dbFile } = libraryOptions(args) as MirrorOptions;
  return { db, dbFile };
}

/** The options of a command that sends requests to the service, with the token (R25). */
export function serviceOptions(args: CommandArguments, { env }: CommandIo): SyncOptions {
  // The library checks the values.
  return { ...libraryOptions(args), token: env['OBSYNC_TOKEN'], tokenFrom: 'OBSYNC_TOKEN' } as unknown as SyncOptions;
}
