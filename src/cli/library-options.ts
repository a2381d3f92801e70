import { OPTIONS } from '../settings/option-table.ts';
import type { SyncOptions } from '../settings/options.ts';
import type { CommandArguments, CommandIo } from './command.ts';

/**
 * The values for the library, which validates them, without unset ones and those that only commands have. Each function
 * ignores options that it doesn't take.
 */
export function libraryOptions<Options = Readonly<Record<string, unknown>>>(args: CommandArguments): Options {
  // The default mirror does not apply if a file contains another address.
  const isReplaced = (name: string): boolean => name === 'db' && args['dbFile'] !== undefined;
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) => name in OPTIONS && value !== undefined && !isReplaced(name)),
  ) as Options;
}

/** The options of a command that sends requests to the service, with the token (R25). */
export function serviceOptions(args: CommandArguments, { env }: CommandIo): SyncOptions {
  return { ...libraryOptions<SyncOptions>(args), token: env['OBSYNC_TOKEN'], tokenFrom: 'OBSYNC_TOKEN' };
}
