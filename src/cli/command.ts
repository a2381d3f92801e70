import type { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import { usageError } from '../core/errors.ts';
import type { OptionEntry } from '../settings/option-table.ts';

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The width of a terminal, which may report 0 for unknown; null for other outputs, whose lines may be any length. */
export function widthOf(output: OutputStream): number | null {
  return output.isTTY === true ? columnsOf(output) : null;
}

/** The terminal's width, else that of the variable COLUMNS, as for a pipe into a pager; null without a limit. */
export function stdoutWidth({ stdout, env }: Pick<CommandIo, 'stdout' | 'env'>): number | null {
  const { COLUMNS = '' } = env;
  return widthOf(stdout) ?? (/^[1-9]\d*$/.test(COLUMNS) ? Number(COLUMNS) : null);
}

export function columnsOf({ columns }: Pick<OutputStream, 'columns'>): number {
  return columns || 80;
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
export function isQuiet({ quiet, logLevel }: CommandArguments): boolean {
  return quiet === true || QUIET_LEVELS.includes(String(logLevel));
}

const QUIET_LEVELS: readonly string[] = ['fatal', 'error', 'warn'];

/** The values of a command's options and arguments by name, such as `pageSize`. */
export type CommandArguments = Readonly<Record<string, unknown>>;

/** Returns the exit code. @throws SyncError */
export type CommandAction = (args: CommandArguments, io: CommandIo) => Promise<number>;

/** A command whose first argument names one of these actions; `list` by default. */
export function commandOfActions(name: string, actions: Readonly<Record<string, CommandAction>>): CommandAction {
  return async (args, io) => {
    const { action = 'list' } = args as { readonly action?: string };
    const perform = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (perform !== undefined) return perform(args, io);
    const known = Object.keys(actions).join(', ');
    throw usageError(`unknown action ${action} of ${name}: use one of ${known}`);
  };
}

export type CommandOptions = Readonly<Record<string, OptionEntry>>;

export interface CliCommand {
  readonly name: string;
  readonly describe: string;
  readonly options: CommandOptions;
  /** The options that have no effect without another one, under its name. */
  readonly dependents?: Readonly<Record<string, readonly string[]>>;
  readonly positionals?: readonly { readonly name: string; readonly describe: string }[];
  readonly run: CommandAction;
}

/** In place of a file: stdin or stdout. */
export const STDIO = '-';
