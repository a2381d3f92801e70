import { and, eq, isNotNull, or, sql } from 'drizzle-orm';
import { environments } from '../schema/assets.ts';
import { rejectedRows, syncCheckpoints } from '../schema/sync.ts';
import type { RejectedRow } from '../src/core/decode.ts';
import type { EnvironmentChanges } from '../src/core/environments.ts';
import type { Instant } from '../src/core/instant.ts';
import type { Row } from '../src/core/stream.ts';
import { type MirrorClock, tickTogether } from './mirror-clock.ts';
import { all, asking, insertInto, type StateStatements, update, upsertInto } from './state-statements.ts';

/** The environments of the mirror, without the mirror's own time. */
export function* loadEnvironments(): StateStatements<Row[]> {
  const found = yield* all(asking.select().from(environments));
  return found.map(({ mirrored_at: _, ...row }) => row);
}

/** Writes the changes that `reconcile` found and moves the clocks of environments (see `MirrorClock`). */
export function* saveEnvironments(
  environmentChanges: EnvironmentChanges,
  runId: number,
  clock: MirrorClock,
): StateStatements<void> {
  const changedIds = environmentChanges.changed.map((row) => String(row['id']));
  const listedIds = environmentChanges.listed.map(({ id }) => id);
  const timeOf = yield* tickTogether(clock, { changedIds, listedIds });
  for (const changed of environmentChanges.changed) {
    const row = { ...(changed as typeof environments.$inferSelect), mirrored_at: timeOf(String(changed['id'])) };
    yield upsertInto(environments, row, [environments.id]);
  }
  for (const id of environmentChanges.returned) {
    const returned = and(eq(syncCheckpoints.env_id, id), scannedBefore);
    yield update(syncCheckpoints, { scan_due: 'returned' }, returned);
  }
  yield sql`delete from ${rejectedRows} where ${eq(rejectedRows.stream, 'environments')}`;
  for (const row of environmentChanges.rejected)
    yield sql`${insertInto(rejectedRows, toRejectedRow(row, runId, timeOf('')))} on conflict do nothing`;
}

/** Only streams that have been scanned, or are in a round: any other stream is scanned first anyway, or never. */
const scannedBefore = or(isNotNull(syncCheckpoints.scan_ended_cycle), isNotNull(syncCheckpoints.round));

function toRejectedRow(
  { rowKey, reason, payload }: RejectedRow,
  runId: number,
  seenAt: Instant,
): typeof rejectedRows.$inferInsert {
  return { run_id: runId, env_id: '', stream: 'environments', row_key: rowKey, reason, payload, seen_at: seenAt };
}
