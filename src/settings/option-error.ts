import { SyncError } from '../core/errors.ts';
import { flagOf } from './options.ts';

/** The value of an option is not valid, wherever it was given. */
export class OptionError extends SyncError {
  /** Its name, such as `pageSize`. */
  readonly option: string;

  constructor(option: string, message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
    this.option = option;
  }
}

/** Reads the value of an option. @throws OptionError with the message of the error that `read` throws */
export function readOption<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'usage') throw error;
    throw new OptionError(option, error.message, { cause: error });
  }
}

/** @throws OptionError when the value is not a number in the range */
export function inRange(
  name: string,
  given: unknown,
  { min, max = Number.MAX_SAFE_INTEGER, whole = true }: { min: number; max?: number; whole?: boolean },
): number {
  const value = Number(given);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new OptionError(name, `--${flagOf(name)} needs a ${whole ? 'whole ' : ''}number ${range}`);
}

/** @throws OptionError when the value is not one of the words */
export function oneOf<Word extends string>(name: string, given: unknown, words: readonly Word[]): Word {
  const word = words.find((each) => each === given);
  if (word !== undefined) return word;
  throw new OptionError(name, `--${flagOf(name)} cannot be ${given}: choose one of ${words.join(', ')}`);
}
