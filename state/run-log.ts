import { and, desc, eq, inArray, lt } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirror, syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { SyncError } from '../src/core/errors.ts';
import type { Instant } from '../src/core/instant.ts';

export type RunStatus = Exclude<(typeof syncRuns.$inferSelect)['status'], 'running'>;
export type StreamRun = typeof syncStreamRuns.$inferSelect;

export interface Run {
  readonly id: number;
  /** The run that began this pass: an earlier one only when that was stopped by `--max-requests`. */
  readonly pass: number;
}

/** Ties a new mirror to its base URL. @throws SyncError `usage` when it belongs to another (R26) */
export function claimMirror(db: BetterSQLite3Database, baseUrl: string): void {
  const held = db.select().from(mirror).get();
  if (held === undefined) {
    db.insert(mirror).values({ id: 1, base_url: baseUrl, mirrored_at: '', last_mark: 0 }).run();
  } else if (held.base_url !== baseUrl) {
    throw new SyncError(
      'usage',
      `the mirror belongs to ${held.base_url}, not to ${baseUrl}: name another file with --db`,
    );
  }
}

/** Notes that a run has begun, in a pass of its own. @returns its id */
export function beginRun(db: BetterSQLite3Database, startedAt: Instant): number {
  const { id } = db
    .insert(syncRuns)
    .values({ pass_id: 0, status: 'running', started_at: startedAt })
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

/** Notes how a run ended. */
export function endRun(db: BetterSQLite3Database, id: number, end: RunEnd): void {
  db.update(syncRuns).set(end).where(eq(syncRuns.id, id)).run();
}

/** Notes what a run did to one stream, once it has left it; a second time when it came back to it. */
export function recordStreamRun(db: BetterSQLite3Database, row: StreamRun): void {
  db.insert(syncStreamRuns)
    .values(row)
    .onConflictDoUpdate({ target: [syncStreamRuns.run_id, syncStreamRuns.env_id, syncStreamRuns.stream], set: row })
    .run();
}
