import type { Logger } from 'pino';
import type { OptionEntry } from '../settings/option-table.ts';

/** The variables, outputs and logs of a command. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  out(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  log(level: string): Promise<Logger>;
  /** A log that never blocks the program, even if nothing reads it. */
  serverLog(level: string): Promise<Logger>;
}

/** The values of a command's options and arguments by name, such as `pageSize`. */
export type CommandArguments = Readonly<Record<string, unknown>>;

/**
 * The action of a command.
 * @returns the exit code
 * @throws SyncError
 */
export type CommandAction = (args: CommandArguments, io: CommandIo) => Promise<number>;

export type CommandOptions = Readonly<Record<string, OptionEntry>>;

interface PositionalArgument {
  readonly name: string;
  readonly describe: string;
}

/** One command: its line in the help, its options, and its action. */
export interface CliCommand {
  readonly name: string;
  readonly describe: string;
  readonly options: CommandOptions;
  readonly positionals?: readonly PositionalArgument[];
  readonly run: CommandAction;
}

/** In place of an SQL statement or its file: read the statement from stdin. */
export const STDIN = '-';
