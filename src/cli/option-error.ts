import { SyncError } from '../core/errors.ts';
import type { OptionName } from './options.ts';

/** Says what is wrong with the value of an option, wherever it was given. */
export class OptionError extends SyncError {
  readonly option: OptionName;

  constructor(option: OptionName, message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
    this.option = option;
  }
}

/** Reads the value of an option. @throws OptionError in the words of the error that `read` throws */
export function readOption<T>(option: OptionName, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'usage') throw error;
    throw new OptionError(option, error.message, { cause: error });
  }
}
