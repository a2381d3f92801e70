import type { MirrorClock } from '../../../state/mirror-clock.ts';
import type { StateRunner } from '../../../state/state-statements.ts';
import { createStateStore } from '../../../state/state-store.ts';
import type { Instant } from '../../core/instant.ts';
import type { StateStore } from '../../core/state-store.ts';
import { performOn } from './driver.ts';
import { lockEnvironment } from './environment-lock.ts';
import { type RetryWaiting, readOften, writeOnce } from './retry.ts';
import type { PostgresDatabase } from './transaction.ts';

/** What messages call the mirror, the machine's clock, and the environments that the run writes. */
interface PostgresStateOptions extends RetryWaiting {
  readonly name: string;
  readonly clock: () => Instant;
  envIds(): readonly string[];
}

/** What a mirror in PostgreSQL keeps beside its rows. */
export function postgresState(
  database: PostgresDatabase,
  { name, clock, envIds, ...waiting }: PostgresStateOptions,
): StateStore {
  const moving: MirrorClock = { now: clock, last: (envId) => lockEnvironment(envId, null), moved: envIds };
  const runner: StateRunner = {
    read: (statementsOf) => readOften(database, waiting, (connection) => performOn(connection, statementsOf())),
    write: (statementsOf) => writeOnce(database, waiting, (connection) => performOn(connection, statementsOf())),
  };
  return createStateStore(runner, { name, clock: moving });
}
