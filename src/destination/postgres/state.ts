import type { MirrorClock } from '../../../state/mirror-clock.ts';
import type { StateRunner, StateStatements } from '../../../state/state-statements.ts';
import { createStateStore } from '../../../state/state-store.ts';
import { translateErrors } from '../../core/errors.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import type { Instant } from '../../core/time/instant.ts';
import { performOn } from './driver.ts';
import { lockEnvironment, type WriterLease } from './leases.ts';
import { type RetryWaiting, withRetry, writeOnce } from './retry.ts';
import type { PostgresDatabase } from './transaction.ts';

/** The mirror's name in messages, and the machine's clock. */
interface PostgresStateOptions extends RetryWaiting {
  readonly name: string;
  readonly clock: () => Instant;
  /** The environments that the run writes; without a lease, no other process may write. */
  leases(): ReadonlyMap<string, WriterLease | null>;
  readonly randomHex?: (() => string) | undefined;
  /** What a database error means to the caller; by default, errors stay as they are. */
  readonly errorOf?: (error: unknown) => unknown;
}

export function postgresState(
  database: PostgresDatabase,
  { name, clock, leases, randomHex, errorOf = (error) => error, ...waiting }: PostgresStateOptions,
): StateStore {
  const last = (envId: string): StateStatements<Instant> => lockEnvironment(envId, leases().get(envId) ?? null);
  const moving: MirrorClock = { now: clock, last, moved: () => [...leases().keys()] };
  const runner: StateRunner = {
    read: (statementsOf) =>
      translateErrors(
        withRetry(waiting, () => database.transaction((inside) => performOn(inside, statementsOf()), 'read')),
        errorOf,
      ),
    write: (statementsOf, envIds = []) =>
      translateErrors(
        writeOnce(database, waiting, (connection) => performOn(connection, held(statementsOf, envIds))),
        errorOf,
      ),
  };
  return createStateStore(runner, { name, clock: moving, randomHex });

  function* held<Result>(
    statementsOf: () => StateStatements<Result>,
    envIds: readonly string[],
  ): StateStatements<Result> {
    // In the same order for all transactions, to avoid deadlocks.
    const ours = [...new Set(envIds)].filter((envId) => leases().has(envId)).sort();
    for (const envId of ours) yield* last(envId);
    return yield* statementsOf();
  }
}
