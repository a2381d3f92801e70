import type { Database } from 'better-sqlite3';
import { clockOfOneWriter } from '../../../state/mirror-clock.ts';
import { randomHex as newRandomHex } from '../../../state/run-log.ts';
import type { StateStatements } from '../../../state/state-statements.ts';
import { createStateStore } from '../../../state/state-store.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import type { Instant } from '../../core/time/instant.ts';
import { type PrepareStatement, perform } from './driver.ts';

/** What the state needs of an open mirror. */
export interface StateFile {
  readonly path: string;
  readonly connection: Database;
  readonly prepare: PrepareStatement;
}

/** The state of an SQLite mirror. `now` is the machine's clock, which stamps what is written. */
export function fileState(mirror: StateFile, now: () => Instant, randomHex = newRandomHex): StateStore {
  return createStateStore(
    {
      read: async (statementsOf) => readState(mirror, statementsOf()),
      write: async (statementsOf) => writeState(mirror, statementsOf()),
    },
    { name: mirror.path, clock: clockOfOneWriter(now), randomHex },
  );
}

/** Reads the state synchronously. */
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
