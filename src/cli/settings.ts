import { readFileSync } from 'node:fs';
import { SyncError } from '../core/errors.ts';
import { OPTIONS, type OptionName } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What `OBSYNC_…` variables and the config file say about a command's options, by flag name; a flag stands over both, a
 * variable over the file. @throws SyncError `usage`
 */
export function settingsOf(argv: readonly string[], env: Environment): Record<string, unknown> {
  const path = flagValue(argv, '--config') ?? (env['OBSYNC_CONFIG'] || undefined);
  return { ...(path === undefined ? {} : readConfig(path)), ...readVariables(env) };
}

/** What a header can carry of a token. */
export const HEADER_TEXT = /^[\x21-\x7e]+$/;

/** The access token (R25). @throws SyncError `usage` when there is none */
export function readToken(tokenFile: string | undefined, env: Environment): string {
  const token = (env['OBSYNC_TOKEN']?.trim() || (tokenFile === undefined ? '' : readTextFile(tokenFile))).trim();
  if (token === '')
    throw new SyncError('usage', 'no access token: set OBSYNC_TOKEN, or name a file that holds it with --token-file');
  if (!HEADER_TEXT.test(token))
    throw new SyncError(
      'usage',
      'the access token holds characters that no header can carry: check OBSYNC_TOKEN or the token file',
    );
  return token;
}

function readVariables(env: Environment): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const name of Object.keys(OPTIONS) as OptionName[]) {
    const variable = `OBSYNC_${name.replaceAll('-', '_').toUpperCase()}`;
    const value = env[variable];
    if (value !== undefined && value !== '') settings[name] = ofItsKind(variable, name, fromText(name, value));
  }
  return settings;
}

function readConfig(path: string): Record<string, unknown> {
  const parsed = parse(path);
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(parsed)) {
    const name = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-');
    if (!Object.hasOwn(OPTIONS, name) || name === 'config')
      throw new SyncError('usage', `${path}: there is no option ${key}${tokenHint(name)}`);
    settings[name] = ofItsKind(path, name as OptionName, value);
  }
  return settings;
}

const KINDS = { boolean: 'true or false', number: 'a number', string: 'a text' } as const;

/** A value that yargs would bend: to it, any text is a yes or a no. Texts of numbers are read with those of flags. */
function ofItsKind(where: string, name: OptionName, value: unknown): unknown {
  const { type } = OPTIONS[name];
  const fits = (each: unknown): boolean => typeof each === type || (type === 'number' && typeof each === 'string');
  if ('array' in OPTIONS[name] && Array.isArray(value) ? value.every(fits) : fits(value)) return value;
  throw new SyncError('usage', `${where}: --${name} needs ${KINDS[type]}`);
}

function parse(path: string): object {
  try {
    const parsed: unknown = JSON.parse(readTextFile(path));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch (cause) {
    if (cause instanceof SyncError) throw cause;
    throw new SyncError('usage', `${path} is no JSON: write the options as one JSON object`, { cause });
  }
  throw new SyncError('usage', `${path} is no JSON object: write the options as {"name": value}`);
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SyncError('usage', `${path} cannot be read: check the path and its permissions`, { cause });
  }
}

function tokenHint(name: string): string {
  return name === 'token' ? ': a token belongs into OBSYNC_TOKEN or a file named by --token-file' : '';
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Repeatable options are separated by commas in a variable. */
function fromText(name: OptionName, value: string): unknown {
  if (OPTIONS[name].type === 'boolean') return BOOLEANS.get(value.toLowerCase()) ?? value;
  return 'array' in OPTIONS[name] ? value.split(',').map((part) => part.trim()) : value;
}

/** The value of a flag that has to be known before, or although, the others cannot be read. */
export function flagValue(argv: readonly string[], flag: string): string | undefined {
  const at = argv.findIndex((argument) => argument === flag || argument.startsWith(`${flag}=`));
  if (at < 0) return undefined;
  return argv[at]?.includes('=') ? argv[at]?.slice(flag.length + 1) : argv[at + 1];
}
