import type { Logger } from 'pino';
import type { Arguments, Options as YargsOption } from 'yargs';

/** Where a command's words go, and who runs it. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  out(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  log(level: string): Promise<Logger>;
  /** One that nobody has to read for the program to go on. */
  serverLog(level: string): Promise<Logger>;
}

/** What a command does. @returns the exit code. @throws SyncError */
export type CommandAction = (args: Arguments, commandIo: CommandIo) => Promise<number>;

/** One command: what help says of it, its options, and what it does. */
export interface CliCommand {
  readonly name: string;
  readonly describe: string;
  readonly options: Readonly<Record<string, YargsOption>>;
  /** The one positional argument, when there is one. */
  readonly argument?: { readonly name: string; readonly describe: string };
  readonly run: CommandAction;
}
