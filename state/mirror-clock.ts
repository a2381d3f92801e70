import { mirrorEnvironments as table } from '../schema/sync.ts';
import { after, type Instant } from '../src/core/time/instant.ts';
import { all, insertStatement, queryBuilder, type StateStatements, update } from './state-statements.ts';

/**
 * How the clocks of a mirror advance (R21). With one writer they all get the same time; with several, each has its own.
 */
export interface MirrorClock {
  now(): Instant;
  /**
   * The time that the environment's next time must follow. With several writers, this also locks the environment's row.
   */
  last(envId: string): StateStatements<Instant | null>;
  /** The environments whose clocks a run advances besides those that it changes; null for all of them, to one time. */
  moved(): readonly string[] | null;
  /** Called with each time that an environment's clock is set to, before the transaction is committed. */
  ticked?(at: Instant): void;
}

/**
 * The clock of a mirror with one writer. Its time is later than every environment's, so a reader of several
 * environments can start from the newest.
 */
export function clockOfOneWriter(now: () => Instant): MirrorClock {
  return { now, last: newestTime, moved: () => null };
}

function* newestTime(): StateStatements<Instant | null> {
  const { rows } = yield { sql: 'select max(mirrored_at) from mirror_environments', values: {} };
  return (Object.values(rows[0] ?? {})[0] ?? null) as Instant | null;
}

/**
 * Advances the clock of an environment to the time of the current transaction: the machine's time or, if the last time
 * is later, one microsecond after that. So no two transactions have the same time, and it never runs backwards,
 * whatever the machine's clock does (R21). Call it once in the transaction whose rows it stamps.
 */
export function* tick(clock: MirrorClock, envId: string): StateStatements<Instant> {
  const mirroredAt = nextTick(clock.now(), yield* clock.last(envId));
  yield {
    sql: `insert into mirror_environments (env_id, mirrored_at) values (@env, @mirroredAt)
      on conflict (env_id) do update set mirrored_at = excluded.mirrored_at`,
    values: { env: envId, mirroredAt },
    isUnanswered: true,
  };
  clock.ticked?.(mirroredAt);
  return mirroredAt;
}

/**
 * Advances the clocks that move together when a run ends or saves environments: those of changed ones must advance, and
 * listed ones must have one.
 * @returns the time of each environment
 */
export function* tickTogether(
  clock: MirrorClock,
  changedIds: readonly string[] = [],
  listedIds: readonly string[] = [],
): StateStatements<(envId: string) => Instant> {
  const moved = clock.moved();
  if (moved === null) return yield* tickAll(clock, [...changedIds, ...listedIds]);
  const times = new Map<string, Instant>();
  // Always in the same order, to avoid deadlocks between runs.
  for (const envId of [...new Set([...moved, ...changedIds])].sort()) times.set(envId, yield* tick(clock, envId));
  return (envId) => times.get(envId) ?? clock.now();
}

function* tickAll(clock: MirrorClock, envIds: readonly string[]): StateStatements<() => Instant> {
  const mirroredAt = nextTick(clock.now(), yield* clock.last(''));
  // One statement, however many environments there are.
  yield update(table, { mirrored_at: mirroredAt });
  const known = yield* all(queryBuilder.select({ env_id: table.env_id }).from(table));
  const withClock = new Set(known.map(({ env_id }) => env_id));
  for (const env_id of new Set(envIds.filter((id) => !withClock.has(id))))
    yield insertStatement(table, { env_id, mirrored_at: mirroredAt });
  return () => mirroredAt;
}

/** `now`, or the microsecond after the last time if that is later (R21). */
function nextTick(now: Instant, last: Instant | null): Instant {
  return last === null || now > last ? now : after(last);
}
