import { dirname, resolve } from 'node:path';
import { SyncError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import { closestName } from '../settings/closest-name.ts';
import { flagOf } from '../settings/options.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { OPTIONS, type OptionName } from './options.ts';

type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** The options that were set by a variable or by the config file, by the names of their flags. */
export type SettingsByFlag = ReadonlyMap<string, SettingValue>;

interface SettingValue {
  readonly value: unknown;
  /** The variable, or the config file. */
  readonly from: string;
}

/**
 * The options that `OBSYNC_…` variables and the config file set. A flag overrides both, and a variable overrides the file.
 * @throws SyncError `usage`
 */
export function settingsOf(argv: readonly string[], env: ProcessEnvironment): SettingsByFlag {
  const path = flagValue(argv, '--config') ?? (env['OBSYNC_CONFIG'] || undefined);
  return new Map([...(path === undefined ? [] : readConfig(path)), ...readVariables(env)]);
}

/** A warning for each variable that names no option: otherwise a misspelt one would be ignored silently. */
export function unknownVariables(env: ProcessEnvironment): string[] {
  const known = [...(Object.keys(OPTIONS) as OptionName[]).map(variableOf), ...SECRETS];
  return Object.keys(env)
    .filter((name) => name.startsWith('OBSYNC_') && !known.includes(name))
    .map((name) => `${name} is ignored because there is no such variable${didYouMean(closestName(name, known))}`);
}

const SECRETS: readonly string[] = ['OBSYNC_TOKEN', 'OBSYNC_SERVE_TOKEN'];

function variableOf(name: OptionName): string {
  return `OBSYNC_${name.replaceAll('-', '_').toUpperCase()}`;
}

function readVariables(env: ProcessEnvironment): [OptionName, SettingValue][] {
  return (Object.keys(OPTIONS) as OptionName[]).flatMap((name): [OptionName, SettingValue][] => {
    const from = variableOf(name);
    const value = env[from];
    if (value === undefined || value === '') return [];
    return [[name, { value: ofItsKind(from, name, fromText(name, value)), from }]];
  });
}

function readConfig(path: string): [OptionName, SettingValue][] {
  return Object.entries(parse(path)).map(([key, given]) => {
    const name = flagOf(key).replaceAll('_', '-');
    if (!isOption(name))
      throw new SyncError('usage', `${path}: there is no option ${key}${hint(key, Object.keys(OPTIONS).map(keyOf))}`);
    const value = ofItsKind(path, name, given);
    // Relative to the config file, whatever the current folder is.
    const isBeside = BESIDE.includes(name) && typeof value === 'string' && value !== '';
    return [name, { value: isBeside ? resolve(dirname(path), value) : value, from: path }];
  });
}

/** An option's name in a config file, and in the library. */
export function keyOf(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Options that name a file beside the config file. */
const BESIDE: readonly OptionName[] = ['token-file', 'db-file'];

function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name) && name !== 'config';
}

const KINDS = { boolean: 'true or false', number: 'a number', string: 'a string' } as const;

/** Checks the type of a value, because yargs converts any string to a boolean. A number may be given as a string, as in a flag. */
function ofItsKind(where: string, name: OptionName, value: unknown): unknown {
  const { type } = OPTIONS[name];
  const fits = (each: unknown): boolean => typeof each === type || (type === 'number' && typeof each === 'string');
  if ('array' in OPTIONS[name] && Array.isArray(value) ? value.every(fits) : fits(value)) return value;
  throw new SyncError('usage', `${where}: --${name} needs ${KINDS[type]}`);
}

function parse(path: string): object {
  try {
    const parsed: unknown = JSON.parse(readTextFile(path));
    if (isJsonObject(parsed)) return parsed;
  } catch (cause) {
    if (cause instanceof SyncError) throw cause;
    throw new SyncError('usage', `${path} is not valid JSON: write the options as one JSON object`, { cause });
  }
  throw new SyncError('usage', `${path} is not a JSON object: write the options as {"name": value}`);
}

/** A suggestion for an option that does not exist. */
export function hint(name: string, options: readonly string[], prefix = ''): string {
  if (name === 'token') return ': put the token into OBSYNC_TOKEN or into the file that --token-file names';
  if (name === 'json' && options.includes('format')) return ': write --format json';
  const meant = closestName(name, options);
  return didYouMean(meant === null ? null : `${prefix}${meant}`);
}

function didYouMean(name: string | null): string {
  return name === null ? '' : `, did you mean ${name}?`;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function fromText(name: OptionName, value: string): unknown {
  if (OPTIONS[name].type === 'boolean') return BOOLEANS.get(value.toLowerCase()) ?? value;
  return 'array' in OPTIONS[name] ? [value] : value;
}

/** The value of a flag, read before the other options are parsed, or when they cannot be. */
export function flagValue(argv: readonly string[], flag: string): string | undefined {
  const at = argv.findIndex((argument) => argument === flag || argument.startsWith(`${flag}=`));
  if (at < 0) return undefined;
  return argv[at]?.includes('=') ? argv[at]?.slice(flag.length + 1) : argv[at + 1];
}
