import type { Database } from 'better-sqlite3';
import type { StateStatements } from '../../../state/state-statements.ts';
import { type PrepareStatement, perform } from './driver.ts';

/** What the state needs of an open mirror. */
export interface StateFile {
  readonly path: string;
  readonly connection: Database;
  readonly prepare: PrepareStatement;
}

export function readState<Result>(
  { prepare }: Pick<StateFile, 'prepare'>,
  statements: StateStatements<Result>,
): Result {
  return perform(prepare, statements);
}

/** Changes the state synchronously, in one transaction. */
export function writeState<Result>(
  { connection, prepare }: Pick<StateFile, 'connection' | 'prepare'>,
  statements: StateStatements<Result>,
): Result {
  return connection.transaction(() => perform(prepare, statements))();
}
