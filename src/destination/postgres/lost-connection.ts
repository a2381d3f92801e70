import { DatabaseError } from 'pg';
import { SyncError } from '../../core/errors.ts';
import { sqlStateOf } from './server-error.ts';

/** The connection to the server was lost, or could not be made: nobody knows what became of the last statement. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to PostgreSQL was lost', { cause });
  }
}

/** A transaction was to be committed when the connection was lost: it may have taken place or not. */
export class UnknownOutcome extends Error {
  /** The server's number of the transaction; null if it was not asked for. */
  readonly transaction: string | null;

  constructor(cause: unknown, transaction: string | null) {
    super('the connection to PostgreSQL was lost during a commit', { cause });
    this.transaction = transaction;
  }
}

/** An error of the driver: what neither the server nor obsync itself said is about the connection. */
export function driverError(error: unknown): DatabaseError | LostConnection | SyncError {
  const isSaid = error instanceof DatabaseError || error instanceof LostConnection || error instanceof SyncError;
  return isSaid ? error : new LostConnection(error);
}

/** The server ended the connection, or is about to. */
const ENDED = /^(?:08...|57P0[1235]|25P0[34])$/;

/**
 * The transaction met another one, or one before it on the connection was cancelled at its end: it can be done again.
 */
const CONFLICT = /^(?:40001|40P01|25P02)$/;

/** Whether the connection is gone with an error. */
export function isLost(error: unknown): boolean {
  if (error instanceof SyncError) return isLost(error.cause);
  return error instanceof LostConnection || ENDED.test(sqlStateOf(error) ?? '');
}

/** Whether the same transaction may succeed when it is done again. */
export function isTransient(error: unknown): boolean {
  if (error instanceof SyncError) return error.recovery !== 'usage' && isTransient(error.cause);
  const state = sqlStateOf(error) ?? '';
  return error instanceof UnknownOutcome || isLost(error) || CONFLICT.test(state);
}
