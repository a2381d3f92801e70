import { and, eq, sql } from 'drizzle-orm';
import { environments } from '../schema/assets.ts';
import { mirrorEnvironments, rejectedRows } from '../schema/sync.ts';
import type { EnvironmentChanges } from '../src/core/schedule/environments.ts';
import type { Row } from '../src/core/stream.ts';
import type { Instant } from '../src/core/time/instant.ts';
import { type MirrorClock, tickTogether } from './mirror-clock.ts';
import { all, first, insertStatement, queryBuilder, type StateStatements, upsertInto } from './state-statements.ts';

/** The environment id of rows about environments. */
const NONE = '';

/** The environments of the mirror, without the mirror's own time. */
export function* loadEnvironments(): StateStatements<Row[]> {
  const found = yield* all(queryBuilder.select().from(environments).orderBy(environments.id));
  return found.map(({ mirrored_at: _, ...row }) => row);
}

/**
 * Writes the changes that `reconcile` found, and advances the clocks of environments (see `MirrorClock`). Returns the
 * time of what belongs to no environment.
 */
export function* saveEnvironments(changes: EnvironmentChanges, clock: MirrorClock): StateStatements<Instant> {
  const changedIds = changes.changed.map((row) => String(row['id']));
  const listedIds = changes.listed.map(({ id }) => id);
  const timeOf = yield* tickTogether(clock, changedIds, listedIds);
  for (const id of changes.returned) yield* countReturn(id);
  for (const changed of changes.changed) {
    const row = { ...(changed as typeof environments.$inferSelect), mirrored_at: timeOf(String(changed['id'])) };
    yield upsertInto(environments, row, [environments.id]);
  }
  return timeOf(NONE);
}

const isEnvironment = and(eq(rejectedRows.env_id, NONE), eq(rejectedRows.stream, 'environments'));

export function* hasRejectedEnvironments(): StateStatements<boolean> {
  const { run_id } = rejectedRows;
  return (yield* first(queryBuilder.select({ run_id }).from(rejectedRows).where(isEnvironment).limit(1))) !== undefined;
}

/** Replaces the environments that could not be read. */
export function* saveRejectedEnvironments(
  rejected: EnvironmentChanges['rejected'],
  runId: number,
  seenAt: Instant,
): StateStatements<void> {
  yield sql`delete from ${rejectedRows} where ${isEnvironment}`;
  const same = { run_id: runId, env_id: NONE, stream: 'environments', seen_at: seenAt };
  for (const { rowKey, reason, payload } of rejected)
    yield insertStatement(rejectedRows, { ...same, row_key: rowKey, reason, payload }, 'on conflict do nothing');
}

/**
 * Makes the streams of an environment notice that it is back (R13). Two runs don't count the same return, because
 * whoever saves environments has locked their clocks.
 */
function* countReturn(id: string): StateStatements<void> {
  const { rows } = yield sql`select id from ${environments} where id = ${id} and missing_since is not null`;
  if (rows.length > 0)
    yield sql`update ${mirrorEnvironments} set returned_count = returned_count + 1 where env_id = ${id}`;
}
