import { didYouMean } from '../core/closest-name.ts';
import { usageError } from '../core/errors.ts';
import { OptionError } from './option-error.ts';
import { OPTIONS, type OptionEntry } from './option-table.ts';

/** The options that only the library has, with their types. */
export const LIBRARY_OPTIONS = {
  token: 'string',
  tokenFrom: 'string',
  shareQuota: 'boolean',
  signal: 'signal',
  onProgress: 'function',
  name: 'string',
  tool: 'string',
  logger: 'object',
  sql: 'string',
  parameters: 'object',
  bigints: 'boolean',
} as const;

type OptionType = OptionEntry['type'] | (typeof LIBRARY_OPTIONS)[keyof typeof LIBRARY_OPTIONS];

/** The type of each option of the library. The same options object may be passed to several functions. */
const TYPES: ReadonlyMap<string, OptionType> = new Map<string, OptionType>([
  ...Object.entries(OPTIONS).map(([name, { type }]) => [name, type] as const),
  ...Object.entries(LIBRARY_OPTIONS),
]);

const NEEDS: Readonly<Record<OptionType, { what: string; fits: (value: unknown) => boolean }>> = {
  string: { what: 'a string', fits: (value) => typeof value === 'string' },
  // A number may be given as text, like a flag's.
  number: { what: 'a number', fits: (value) => typeof value === 'number' || typeof value === 'string' },
  boolean: { what: 'true or false', fits: (value) => typeof value === 'boolean' },
  array: {
    what: 'an array of strings',
    fits: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  },
  object: { what: 'an object', fits: (value) => typeof value === 'object' && value !== null },
  signal: { what: 'an AbortSignal', fits: isAbortSignal },
  function: { what: 'a function', fits: (value) => typeof value === 'function' },
};

/** A signal from another realm, such as `node:vm` or a test's DOM, is not an instance of this realm's class. */
function isAbortSignal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener } = value as Partial<Record<keyof AbortSignal, unknown>>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

/** The expected type, such as `a number`, if the value does not have it; else null. */
export function typeMismatch(type: OptionType, value: unknown): string | null {
  return NEEDS[type].fits(value) ? null : NEEDS[type].what;
}

/** Checks the names and types of options from a JavaScript program. @throws OptionError, SyncError `usage` */
export function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw usageError('the options are not an object: write them as { name: value }');
  for (const [name, value] of Object.entries(options)) {
    const type = TYPES.get(name);
    if (type === undefined)
      throw new OptionError(name, `there is no option ${name}${didYouMean(name, [...TYPES.keys()])}`);
    const needed = value === undefined ? null : typeMismatch(type, value);
    if (needed !== null) throw new OptionError(name, `the option ${name} needs ${needed}`);
  }
}
