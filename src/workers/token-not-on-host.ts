import { SyncError } from '../core/errors.ts';

/** This host does not have the account's token. Another worker may have it, so nothing is wrong with the account. */
export class TokenNotOnHostError extends SyncError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}
