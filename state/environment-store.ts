import { and, eq, isNotNull, or } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { environments } from '../schema/assets.ts';
import { rejectedRows, syncCheckpoints } from '../schema/sync.ts';
import type { RejectedRow } from '../src/core/decode.ts';
import type { EnvironmentChanges } from '../src/core/environments.ts';
import type { Instant } from '../src/core/instant.ts';
import type { Row } from '../src/core/stream.ts';
import { environmentsWithClock, tick } from './mirror-clock.ts';

/** The environments of the mirror, without the mirror's own time. */
export function loadEnvironments(db: BetterSQLite3Database): Row[] {
  return db
    .select()
    .from(environments)
    .all()
    .map(({ mirrored_at: _, ...row }) => row);
}

/** Writes the changes that `reconcile` found and moves every environment's clock, in one transaction. `clock` is the machine's. */
export function saveEnvironments(
  db: BetterSQLite3Database,
  environmentChanges: EnvironmentChanges,
  run: { id: number; clock: () => Instant },
): void {
  db.transaction((tx) => {
    const listed = environmentChanges.listed.map(({ id }) => id);
    const mirroredAt = tick(tx, run.clock, [...new Set([...environmentsWithClock(tx), ...listed])]);
    for (const changed of environmentChanges.changed) {
      const row = { ...(changed as typeof environments.$inferSelect), mirrored_at: mirroredAt };
      tx.insert(environments).values(row).onConflictDoUpdate({ target: environments.id, set: row }).run();
    }
    for (const id of environmentChanges.returned) {
      const returned = and(eq(syncCheckpoints.env_id, id), scannedBefore);
      tx.update(syncCheckpoints).set({ scan_due: 'returned' }).where(returned).run();
    }
    tx.delete(rejectedRows).where(eq(rejectedRows.stream, 'environments')).run();
    for (const row of environmentChanges.rejected)
      tx.insert(rejectedRows)
        .values(toRejectedRow(row, run.id, mirroredAt))
        .onConflictDoNothing()
        .run();
  });
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
