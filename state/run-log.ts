import { and, desc, eq, gte, isNull, lt, sql } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { alias } from 'drizzle-orm/sqlite-core';
import { mirror, syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { continuesCycle, type LastRun, type LastTry } from '../src/core/cycle.ts';
import { SyncError } from '../src/core/errors.ts';
import type { Instant } from '../src/core/instant.ts';
import type {
  CycleQuery,
  CycleRun,
  JoinedRun,
  RunCommand,
  RunEnd,
  RunReach,
  StreamRun,
} from '../src/core/state-store.ts';
import { environmentsWithClock, tick } from './mirror-clock.ts';

/**
 * Binds a new mirror to its base URL and makes its key. Into an existing mirror it writes nothing.
 * @throws SyncError `usage` if it belongs to another base URL (R26)
 */
export function claimMirror(db: BetterSQLite3Database, baseUrl: string): void {
  const held = db.select().from(mirror).get();
  if (held === undefined) {
    db.insert(mirror).values({ id: 1, base_url: baseUrl, cursor_key: NEW_KEY }).run();
  } else if (held.base_url !== baseUrl) {
    const { file } = db.get<{ file: string }>(sql`select file from pragma_database_list where name = 'main'`);
    throw new SyncError(
      'usage',
      `${file} belongs to ${held.base_url}, not to ${baseUrl}: give that address with --base-url, or name another file with --db`,
    );
  }
}

/** 32 random bytes as lower-case hex; SQLite takes them from the random generator of the system. */
const NEW_KEY = sql<string>`lower(hex(randomblob(32)))`;

/** Makes the key of a mirror that an older version made without one. */
export function fillCursorKey(db: BetterSQLite3Database): void {
  const keyless = db.select({ id: mirror.id }).from(mirror).where(isNull(mirror.cursor_key)).get();
  if (keyless !== undefined) db.update(mirror).set({ cursor_key: NEW_KEY }).run();
}

/** Records that a run has begun, in a cycle of its own. @returns its id */
export function beginRun(db: BetterSQLite3Database, startedAt: Instant, command: RunCommand = 'sync'): number {
  const { id } = db
    .insert(syncRuns)
    .values({ cycle_id: 0, command, status: 'running', started_at: startedAt })
    .returning({ id: syncRuns.id })
    .get();
  db.update(syncRuns).set({ cycle_id: id }).where(eq(syncRuns.id, id)).run();
  return id;
}

/** Lets a run carry on the cycle of the last run that did something in its environments, or begin its own (R6). */
export function joinCycle(db: BetterSQLite3Database, { id, envIds, streams, now, full }: CycleQuery): JoinedRun {
  const last = loadLastRun(db, { id, envIds, streams });
  const cycle = last !== null && continuesCycle(last, { now, full }) ? last.cycle : id;
  const allFull = full && (cycle === id || last?.full === true);
  db.update(syncRuns)
    .set({ cycle_id: cycle, full: Number(allFull) })
    .where(eq(syncRuns.id, id))
    .run();
  return { id, cycle, afterStop: last !== null && last.leftOver !== null };
}

/** It makes one index lookup for each stream of each environment, however long the log is. */
function loadLastRun(db: BetterSQLite3Database, { id, envIds, streams }: RunReach): LastRun | null {
  const lastId = sql`(select max((
      select max(s.run_id) from ${syncStreamRuns} s
      where s.env_id = e.value and s.stream = n.value and s.run_id < ${id}
    )) from json_each(${JSON.stringify(envIds)}) e, json_each(${JSON.stringify(streams)}) n)`;
  const first = alias(syncRuns, 'first_run');
  const last = db
    .select({
      cycle: syncRuns.cycle_id,
      leftOver: syncRuns.left_over,
      full: syncRuns.full,
      cycleBeganAt: first.server_time,
    })
    .from(syncRuns)
    .leftJoin(first, eq(first.id, syncRuns.cycle_id))
    .where(eq(syncRuns.id, lastId))
    .get();
  return last === undefined ? null : { ...last, full: last.full === 1 };
}

/** How each stream ended before this run, if it did not end well; by environment. */
export function loadLastTries(db: BetterSQLite3Database, { id, envIds, streams }: RunReach): Map<string, LastTry[]> {
  const tries = db.all<LastTry & { envId: string }>(sql`
    select s.env_id as envId, s.stream, s.status, s.requests, s.pages
    from json_each(${JSON.stringify(envIds)}) e
    cross join json_each(${JSON.stringify(streams)}) n
    cross join ${syncStreamRuns} s
    where s.status <> 'done' and s.env_id = e.value and s.stream = n.value and s.run_id = (
      select max(t.run_id) from ${syncStreamRuns} t
      where t.env_id = e.value and t.stream = n.value and t.run_id < ${id}
    )`);
  const byEnvironment = new Map<string, LastTry[]>();
  for (const { envId, ...last } of tries) byEnvironment.set(envId, [...(byEnvironment.get(envId) ?? []), last]);
  return byEnvironment;
}

/** Deletes the record of a run that has begun. */
export function forgetRun(db: BetterSQLite3Database, id: number): void {
  db.delete(syncRuns).where(eq(syncRuns.id, id)).run();
}

/**
 * Records how a run ended and moves every environment's clock, in one transaction. So a reader that begins afterwards begins at a
 * time later than that of every row of the run. If the run left nothing to be carried on, its cycle ends for all environments (R6).
 * `clock` is the machine's.
 */
export function endRun(db: BetterSQLite3Database, run: CycleRun & { clock: () => Instant }, end: RunEnd): void {
  db.transaction((tx) => {
    tick(tx, run.clock, environmentsWithClock(tx));
    tx.update(syncRuns).set(end).where(eq(syncRuns.id, run.id)).run();
    const earlier = and(gte(syncRuns.id, run.cycle), lt(syncRuns.id, run.id), eq(syncRuns.cycle_id, run.cycle));
    if ((end.left_over ?? null) === null) tx.update(syncRuns).set({ left_over: null }).where(earlier).run();
  });
}

/**
 * Records what a run did to one stream, after the stream has ended; again if the run came back to it. There is no row if the run did
 * nothing and the stream ended as it did the last time.
 */
export function recordStreamRun(db: BetterSQLite3Database, row: StreamRun): void {
  if (!didAnything(row) && lastStatus(db, row) === row.status) return;
  db.insert(syncStreamRuns)
    .values(row)
    .onConflictDoUpdate({ target: [syncStreamRuns.run_id, syncStreamRuns.env_id, syncStreamRuns.stream], set: row })
    .run();
}

function didAnything({ requests, rows_written, rows_deleted, rows_rejected, error }: StreamRun): boolean {
  return requests + rows_written + rows_deleted + rows_rejected > 0 || error !== null;
}

function lastStatus(db: BetterSQLite3Database, { env_id, stream }: StreamRun): StreamRun['status'] | null {
  const last = db
    .select({ status: syncStreamRuns.status })
    .from(syncStreamRuns)
    .where(and(eq(syncStreamRuns.env_id, env_id), eq(syncStreamRuns.stream, stream)))
    .orderBy(desc(syncStreamRuns.run_id))
    .limit(1)
    .get();
  return last?.status ?? null;
}
