import type { Logger } from 'pino';
import type { Arguments, Options as YargsOption } from 'yargs';

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

/** What a command does. @returns the exit code. @throws SyncError */
export type CommandAction = (args: Arguments, commandIo: CommandIo) => Promise<number>;

interface PositionalArgument {
  readonly name: string;
  readonly describe: string;
}

/** One command: its line in the help, its options, and its action. */
export interface CliCommand {
  readonly name: string;
  readonly describe: string;
  readonly options: Readonly<Record<string, YargsOption>>;
  /** The positional argument, or several of them, if the command takes any. */
  readonly argument?: PositionalArgument | readonly PositionalArgument[];
  readonly run: CommandAction;
}
