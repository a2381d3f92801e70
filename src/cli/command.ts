import type { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import type { OptionEntry } from '../settings/option-table.ts';

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The parts of its process that a command uses. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  log(settings: LogSettings): Promise<Logger>;
  /** A log that never blocks the program, even if nothing reads it. */
  serverLog(settings: LogSettings): Promise<Logger>;
  limitHeap(): void;
}

/** What of the log is written, and how: as text, or as an object of JSON per line. */
export interface LogSettings {
  readonly level: string;
  readonly format: 'text' | 'json';
}

/** The log that a command line asks for; by default, only problems are logged. */
export function logSettings({ quiet, logLevel = 'warn', logFormat }: CommandArguments): LogSettings {
  const asked = String(logLevel);
  const level = quiet === true && !QUIET_LEVELS.includes(asked) ? 'warn' : asked;
  return { level, format: logFormat === 'json' ? 'json' : 'text' };
}

/** Whether a command that finds nothing wrong prints nothing, as cron jobs want. */
export function isQuiet(args: CommandArguments): boolean {
  return QUIET_LEVELS.includes(logSettings(args).level);
}

const QUIET_LEVELS: readonly string[] = ['fatal', 'error', 'warn'];

/** The values of a command's options and arguments by name, such as `pageSize`. */
export type CommandArguments = Readonly<Record<string, unknown>>;

/** Returns the exit code. @throws SyncError */
export type CommandAction = (args: CommandArguments, io: CommandIo) => Promise<number>;

export type CommandOptions = Readonly<Record<string, OptionEntry>>;

interface PositionalArgument {
  readonly name: string;
  readonly describe: string;
}

export interface CliCommand {
  readonly name: string;
  readonly describe: string;
  readonly options: CommandOptions;
  /** The options that have no effect without another one, under its name. */
  readonly dependents?: Readonly<Record<string, readonly string[]>>;
  readonly positionals?: readonly PositionalArgument[];
  readonly run: CommandAction;
}

/** In place of a file: stdin or stdout. */
export const STDIO = '-';
