import { SyncError } from '../core/errors.ts';

/**
 * The token of an account is not found on this host: another worker may have it, so nothing is wrong with the account.
 */
export class TokenNotOnHostError extends SyncError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}
