import { and, desc, eq, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirror, syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { SyncError } from '../src/core/errors.ts';
import type { Instant } from '../src/core/instant.ts';
import { tick } from './mirror-clock.ts';

export type RunStatus = Exclude<(typeof syncRuns.$inferSelect)['status'], 'running'>;
export type StreamRun = typeof syncStreamRuns.$inferSelect;

export interface Run {
  readonly id: number;
  /** The run that began this pass: an earlier one only when that was stopped by `--max-requests`. */
  readonly pass: number;
}

/**
 * Ties a new mirror to its base URL, and makes its key; to one that there is it writes nothing.
 * @throws SyncError `usage` when it belongs to another (R26)
 */
export function claimMirror(db: BetterSQLite3Database, baseUrl: string): void {
  const held = db.select().from(mirror).get();
  if (held === undefined) {
    db.insert(mirror).values({ id: 1, base_url: baseUrl, mirrored_at: '', last_mark: 0, cursor_key: NEW_KEY }).run();
  } else if (held.base_url !== baseUrl) {
    throw new SyncError(
      'usage',
      `the mirror belongs to ${held.base_url}, not to ${baseUrl}: name another file with --db`,
    );
  }
}

/** 32 random bytes as lower-case hex; SQLite draws them from the system's randomness. */
const NEW_KEY = sql<string>`lower(hex(randomblob(32)))`;

/** Makes the key of a mirror from before there were keys. */
export function fillCursorKey(db: BetterSQLite3Database): void {
  const keyless = db.select({ id: mirror.id }).from(mirror).where(isNull(mirror.cursor_key)).get();
  if (keyless !== undefined) db.update(mirror).set({ cursor_key: NEW_KEY }).run();
}

/** Notes that a run has begun, in a pass of its own. @returns its id */
export function beginRun(
  db: BetterSQLite3Database,
  startedAt: Instant,
  command: (typeof syncRuns.$inferSelect)['command'] = 'sync',
): number {
  const { id } = db
    .insert(syncRuns)
    .values({ pass_id: 0, command, status: 'running', started_at: startedAt })
    .returning({ id: syncRuns.id })
    .get();
  db.update(syncRuns).set({ pass_id: id }).where(eq(syncRuns.id, id)).run();
  return id;
}

/** A run goes on with the pass of the last run that read any of its environments, if that used up its requests. */
export function joinPass(db: BetterSQLite3Database, id: number, envIds: readonly string[]): Run {
  const last = db
    .select({ status: syncRuns.status, pass: syncRuns.pass_id })
    .from(syncRuns)
    .innerJoin(syncStreamRuns, eq(syncStreamRuns.run_id, syncRuns.id))
    .where(and(lt(syncRuns.id, id), inArray(syncStreamRuns.env_id, [...envIds])))
    .orderBy(desc(syncRuns.id))
    .limit(1)
    .get();
  const pass = last?.status === 'stopped' ? last.pass : id;
  db.update(syncRuns).set({ pass_id: pass }).where(eq(syncRuns.id, id)).run();
  return { id, pass };
}

export type RunEnd = Pick<
  typeof syncRuns.$inferSelect,
  'server_time' | 'ended_at' | 'requests' | 'rows_written' | 'rows_deleted' | 'rows_rejected' | 'error'
> & { status: RunStatus };

/**
 * Notes how a run ended, and moves the mirror's time on, in one transaction: whoever asks from then on asks at a time later
 * than that of every row the run wrote. `clock` is the machine's.
 */
export function endRun(db: BetterSQLite3Database, run: { id: number; clock: () => Instant }, end: RunEnd): void {
  db.transaction((tx) => {
    tick(tx, run.clock);
    tx.update(syncRuns).set(end).where(eq(syncRuns.id, run.id)).run();
  });
}

/** Notes what a run did to one stream, once it has left it; a second time when it came back to it. */
export function recordStreamRun(db: BetterSQLite3Database, row: StreamRun): void {
  db.insert(syncStreamRuns)
    .values(row)
    .onConflictDoUpdate({ target: [syncStreamRuns.run_id, syncStreamRuns.env_id, syncStreamRuns.stream], set: row })
    .run();
}
