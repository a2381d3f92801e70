import { OPTIONS } from '../settings/option-table.ts';
import type { MirrorOptions, SyncOptions } from '../settings/options.ts';
import type { CommandArguments, CommandIo } from './command.ts';

/** The values for the library, without unset ones and those that only commands have. */
export function libraryOptions(args: CommandArguments): Readonly<Record<string, unknown>> {
  // The default mirror does not apply if a file contains another address.
  const isReplaced = (name: string): boolean => name === 'db' && args['dbFile'] !== undefined;
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) => name in OPTIONS && value !== undefined && !isReplaced(name)),
  );
}

export function mirrorOptions(args: CommandArguments): MirrorOptions {
  const { db, dbFile } = libraryOptions(args) as MirrorOptions;
  return { db, dbFile };
}

/** The options of a command that sends requests to the service, with the token (R25). */
export function serviceOptions(args: CommandArguments, { env }: CommandIo): SyncOptions {
  // The library validates the values.
  return { ...libraryOptions(args), token: env['OBSYNC_TOKEN'], tokenFrom: 'OBSYNC_TOKEN' } as unknown as SyncOptions;
}
