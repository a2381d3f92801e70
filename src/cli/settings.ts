import { dirname, resolve } from 'node:path';
import { didYouMean } from '../core/closest-name.ts';
import { SyncError, usageError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import { typeMismatch } from '../settings/check-options.ts';
import { flagOf, OptionError, readChoice } from '../settings/option-error.ts';
import type { OptionEntry } from '../settings/option-table.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { type CommandArguments, type CommandIo, type CommandOptions, STDIO } from './command.ts';
import { ALL_OPTIONS } from './commands.ts';

/** Options set by a variable or the config file, and not by a flag. */
export type SettingsByName = ReadonlyMap<string, SettingValue>;

interface SettingValue {
  readonly value: unknown;
  /** The variable or the config file. */
  readonly from: string;
}

export const TOKEN_ADVICE = 'put the token into OBSYNC_TOKEN or into a file for --token-file';

export const ALERTS_ADVICE = 'write alerts into the file of --config';

/**
 * The options that variables and, unless overridden, the config file set; also `alerts` of other commands, because they
 * name variables. @throws SyncError `usage`
 */
export function settingsOf(options: CommandOptions, flags: CommandArguments, env: CommandIo['env']): SettingsByName {
  const path = (flags['config'] as string | undefined) ?? (env['OBSYNC_CONFIG'] || undefined);
  const found = [...(path === undefined ? [] : readConfig(path)), ...readVariables(options, env)];
  return new Map(found.filter(([name]) => (name in options || name === 'alerts') && !(name in flags)));
}

/**
 * A warning for each variable that matches no option: otherwise a misspelt one would be ignored silently. `naming` are
 * the values of options that name variables.
 */
export function unknownVariables(env: CommandIo['env'], naming: readonly unknown[]): string[] {
  const withVariable = Object.entries<OptionEntry>(ALL_OPTIONS).filter(([, { type }]) => type !== 'object');
  const known = [...withVariable.map(([name]) => variableOf(name)), 'OBSYNC_TOKEN', 'OBSYNC_SERVE_TOKEN'];
  const named = JSON.stringify(naming);
  return Object.keys(env)
    .filter((name) => name.startsWith('OBSYNC_') && !known.includes(name) && !named.includes(`"${name}"`))
    .map((name) =>
      name === 'OBSYNC_ALERTS'
        ? `${name} is ignored: ${ALERTS_ADVICE}`
        : `${name} is ignored: there is no such variable${didYouMean(name, known)}`,
    );
}

export function variableOf(name: string): string {
  return `OBSYNC_${flagOf(name).replaceAll('-', '_').toUpperCase()}`;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

function readVariables(options: CommandOptions, env: CommandIo['env']): [string, SettingValue][] {
  return Object.entries(options).flatMap(([name, { type }]): [string, SettingValue][] => {
    const from = variableOf(name);
    const text = env[from] || undefined;
    if (text === undefined || type === 'object') return [];
    return [[name, { value: type === 'boolean' ? (BOOLEANS[text.toLowerCase()] ?? text) : text, from }]];
  });
}

/** Options that name a file relative to the config file, not to the current folder. */
const RELATIVE_TO_CONFIG = ['tokenFile', 'dbFile', 'caFile'];

function readConfig(path: string): [string, SettingValue][] {
  const names = Object.keys(ALL_OPTIONS).filter((name) => name !== 'config');
  return Object.entries(parseConfig(path)).map(([key, given]) => {
    const name = names.find((each) => flagOf(each) === flagOf(key).replaceAll('_', '-'));
    if (name === undefined)
      throw usageError(
        `${path}: there is no option ${key}${key === 'token' ? `: ${TOKEN_ADVICE}` : didYouMean(key, names)}`,
      );
    const isRelative = RELATIVE_TO_CONFIG.includes(name) && typeof given === 'string' && given !== '';
    const value = name === 'alerts' ? withResolvedFiles(given, dirname(path)) : given;
    return [name, { value: isRelative ? resolve(dirname(path), String(given)) : value, from: path }];
  });
}

/** The files that the channels of alerts name are relative to the config file too. */
function withResolvedFiles(value: unknown, folder: string): unknown {
  if (Array.isArray(value)) return value.map((each) => withResolvedFiles(each, folder));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const isFile = ['urlFile', 'secretFile'].includes(key) && typeof each === 'string' && each !== '';
      if (isFile) return [key, resolve(folder, each)];
      return [key, key === 'command' ? withResolvedProgram(each, folder) : withResolvedFiles(each, folder)];
    }),
  );
}

/** A program without a slash is looked up on the PATH, as in a shell. */
function withResolvedProgram(command: unknown, folder: string): unknown {
  if (!Array.isArray(command)) return command;
  const [program, ...args] = command as unknown[];
  return typeof program === 'string' && program.includes('/') ? [resolve(folder, program), ...args] : command;
}

function parseConfig(path: string): object {
  try {
    const parsed: unknown = JSON.parse(readTextFile(path));
    if (isJsonObject(parsed)) return parsed;
  } catch (cause) {
    if (cause instanceof SyncError) throw cause;
    const where = cause instanceof Error ? ` (${cause.message})` : '';
    throw usageError(`${path} is not valid JSON${where}: write the options as one JSON object`, { cause });
  }
  throw usageError(`${path} is not a JSON object: write the options as {"name": value}`);
}

/** The given values of a command's options, validated. @throws OptionError */
export function readValues(options: CommandOptions, givenFor: (name: string) => unknown): CommandArguments {
  return Object.fromEntries(
    Object.entries(options).flatMap(([name, entry]) => {
      const given = givenFor(name);
      return given === undefined ? [] : [[name, readValue(name, entry, given)]];
    }),
  );
}

export function defaultsOf(options: CommandOptions): CommandArguments {
  return Object.fromEntries(Object.entries(options).map(([name, entry]) => [name, entry.default]));
}

/** Validates a value of a flag, a variable or the config file; one value may stand for a list. @throws OptionError */
function readValue(
  name: string,
  { type, choices, commas = false, stdio = false, range }: OptionEntry,
  given: unknown,
): unknown {
  const flag = `--${flagOf(name)}`;
  const values = [given].flat();
  if (type !== 'array' && values.length > 1)
    throw new OptionError(name, `${flag} is given more than once: give it once`);
  const needed = typeMismatch(type, type === 'array' ? values : given);
  if (needed !== null) throw new OptionError(name, `${flag} needs ${needed}`);
  if (values.includes('')) throw new OptionError(name, `${flag} needs a value`);
  if (!stdio && values.includes(STDIO))
    throw new OptionError(name, `${flag} cannot be ${STDIO}: name a file or a folder`);
  const parts = commas ? splitAtCommas(values) : values;
  if (choices !== undefined) for (const part of parts) readChoice(name, part, choices);
  if (type === 'array') return parts;
  if (type === 'object') return given;
  // Anything else becomes NaN, which the library rejects with the option's range.
  return type === 'number' && given !== range?.word ? Number(given) : given;
}

export function splitAtCommas(values: readonly unknown[]): string[] {
  return values.flatMap((value) => `${value}`.trim().split(/\s*,\s*/));
}
