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
  /** A log that never blocks the program, even when nobody reads it. */
  serverLog(level: string): Promise<Logger>;
}

/** The values of a command's options and arguments by their names, such as `pageSize`. */
export type CommandArguments = Readonly<Record<string, unknown>>;

/** What a command does. @returns the exit code. @throws SyncError */
export type CommandAction = (args: CommandArguments, commandIo: CommandIo) => Promise<number>;

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

/** Given instead of an SQL statement or of its file: the statement is read from stdin. */
export const STDIN = '-';
