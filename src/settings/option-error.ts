import { SyncError } from '../core/errors.ts';
import { DURATION_FORM, durationSeconds } from '../core/time/duration.ts';
import { type NumberRange, OPTIONS, type OptionEntry } from './option-table.ts';
import type { NumberOption } from './options.ts';

/** An option has an invalid value, wherever it was set. */
export class OptionError extends SyncError {
  /** Its name, such as `pageSize`. */
  readonly option: string;

  constructor(option: string, message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
    this.option = option;
  }
}

/** Reads the value of an option. @throws OptionError with the message of any error that `read` throws */
export function readOption<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'usage') throw error;
    throw new OptionError(option, error.message, { cause: error });
  }
}

/** A required text. @throws OptionError with this `refusal` if it is missing */
export function requireText(name: string, given: unknown, refusal: string): string {
  if (typeof given === 'string' && given !== '') return given;
  throw new OptionError(name, refusal);
}

/** A number in the option's range, or its default. @throws OptionError */
export function readNumber(name: NumberOption, given: unknown): number {
  const { default: defaultValue, range }: { default: number | string | undefined; range: NumberRange } = OPTIONS[name];
  const { min, max = Number.MAX_SAFE_INTEGER, whole = true } = range;
  const value = Number(given ?? defaultValue);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new OptionError(name, `--${flagOf(name)} needs a ${rangeText(range)}`);
}

/** The seconds of a duration, or of the option's default. @throws OptionError */
export function readDuration(name: 'grace' | 'maxAge' | 'for', given: string | undefined): number {
  const { default: defaultValue }: OptionEntry = OPTIONS[name];
  const seconds = durationSeconds(given ?? String(defaultValue));
  if (seconds === null) throw new OptionError(name, `--${flagOf(name)} needs ${DURATION_FORM}`);
  return seconds;
}

/** `whole number from 1 to 64` */
export function rangeText({ min, max, whole = true, word }: NumberRange): string {
  const limits = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return `${whole ? 'whole ' : ''}number ${limits}${word === undefined ? '' : `, or ${word}`}`;
}

/** @throws OptionError if the value is not one of the choices */
export function readChoice<Choice extends string>(name: string, given: unknown, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === given);
  if (choice !== undefined) return choice;
  const quoted = choices.map((each) => JSON.stringify(each)).join(', ');
  throw new OptionError(name, `--${flagOf(name)} cannot be ${JSON.stringify(given)}: choose one of ${quoted}`);
}

/** The name of an option on the command line and in messages: `pageSize` becomes `page-size`. */
export function flagOf(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
