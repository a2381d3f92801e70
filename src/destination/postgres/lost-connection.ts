import { DatabaseError } from 'pg';
import { SyncError } from '../../core/errors.ts';
import { sqlStateOf } from './server-error.ts';

/** The connection to the server was lost or could not be made: the outcome of the last statement is unknown. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to PostgreSQL was lost', { cause });
  }
}

/** The connection was lost during a commit: the transaction may have been committed or not. */
export class UnknownOutcome extends Error {
  /** The server's id of the transaction; null if it was not requested. */
  readonly transaction: string | null;

  constructor(cause: unknown, transaction: string | null) {
    super('the connection to PostgreSQL was lost during a commit', { cause });
    this.transaction = transaction;
  }
}

/** Classifies an error of the driver: unless it comes from the server or from obsync, the connection is lost. */
export function driverError(error: unknown): DatabaseError | LostConnection | SyncError {
  const isSaid = error instanceof DatabaseError || error instanceof LostConnection || error instanceof SyncError;
  return isSaid ? error : new LostConnection(error);
}

/** The server has ended the connection, or is about to. */
const ENDED = /^(?:08...|57P0[1235]|25P0[34])$/;

/**
 * The transaction conflicted with another one, the connection's previous one was cancelled at its end, or Citus lost a
 * node in the middle of a statement or commit, which it reports as an internal error: retry.
 */
const CONFLICT = /^(?:40001|40P01|25P02|XX000)$/;

export function isLost(error: unknown): boolean {
  if (error instanceof SyncError) return isLost(error.cause);
  return error instanceof LostConnection || ENDED.test(sqlStateOf(error) ?? '');
}

/** Whether the same transaction may succeed when retried. */
export function isTransient(error: unknown): boolean {
  if (error instanceof SyncError) return error.recovery !== 'usage' && isTransient(error.cause);
  const state = sqlStateOf(error) ?? '';
  return error instanceof UnknownOutcome || isLost(error) || CONFLICT.test(state);
}
