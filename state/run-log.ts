import { randomBytes } from 'node:crypto';
import { and, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { environments } from '../schema/assets.ts';
import { mirror, syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { usageError } from '../src/core/errors.ts';
import type {
  CycleQuery,
  CycleRun,
  JoinedRun,
  RunCommand,
  RunEnd,
  RunReach,
  StreamRun,
} from '../src/core/ports/state-store.ts';
import {
  continuesCycle,
  type LastAttempt,
  type LastRun,
  type LastVisit,
  owesTurn,
} from '../src/core/schedule/cycle.ts';
import type { Instant } from '../src/core/time/instant.ts';
import { type MirrorClock, tickTogether } from './mirror-clock.ts';
import {
  all,
  first,
  insertStatement,
  queryBuilder,
  type StateStatements,
  textTable,
  update,
  upsertInto,
} from './state-statements.ts';

/**
 * Whether a mirror is bound to this base URL; false if it is bound to none. `name` is the mirror's name in messages.
 * @throws SyncError `usage` if it belongs to another one (R26)
 */
export function* belongsTo(baseUrl: string, name: string): StateStatements<boolean> {
  const held = yield* first(queryBuilder.select().from(mirror));
  if (held !== undefined && held.base_url !== baseUrl)
    throw usageError(
      `${name} belongs to ${held.base_url}, not to ${baseUrl}: pass that address with --base-url, or name another mirror with --db`,
    );
  return held !== undefined;
}

/**
 * Binds a new mirror to its base URL and creates its key. Writes nothing to an existing mirror.
 * @throws SyncError `usage` if it belongs to another base URL (R26)
 */
export function* claimMirror(baseUrl: string, name: string, key = randomHex()): StateStatements<void> {
  if (yield* belongsTo(baseUrl, name)) return;
  yield insertStatement(mirror, { id: 1, base_url: baseUrl, cursor_key: key }, 'on conflict do nothing');
  // With several writers, another one may have been first.
  yield* belongsTo(baseUrl, name);
}

export function randomHex(): string {
  return randomBytes(32).toString('hex');
}

export function* beginRun(
  startedAt: Instant,
  command: RunCommand = 'sync',
  nonce = randomHex(),
): StateStatements<number> {
  const begun = { cycle_id: 0, command, status: 'running', started_at: startedAt, nonce } as const;
  const { rows } = yield insertStatement(syncRuns, begun, 'returning id');
  const id = Number(rows[0]?.['id']);
  yield update(syncRuns, { cycle_id: id }, eq(syncRuns.id, id));
  return id;
}

export function* joinCycle({ id, envIds, now, full, ...query }: CycleQuery): StateStatements<JoinedRun> {
  const lastVisits = yield* loadLastVisits({ id, envIds, streams: query.streams });
  const last = yield* loadRun([...lastVisits.values()].reduce((newest, { run }) => Math.max(newest, run), 0));
  const mayOwe = last?.leftOver === 'failed';
  const attempts = mayOwe ? yield* loadLastTries({ id, envIds, streams: query.selected }) : new Map();
  const owes = last !== null && owesTurn(last, [...attempts.values()].flat());
  const cycle = last !== null && continuesCycle(last, { now, full, owes }) ? last.cycle : id;
  const allFull = full && (cycle === id || last?.full === true);
  yield update(syncRuns, { cycle_id: cycle, full: Number(allFull), full_every: query.fullEvery }, eq(syncRuns.id, id));
  return { id, cycle, lastVisits, afterRun: last?.leftOver ? last.run : null, owesTurn: owes };
}

/** Takes one index lookup per stream of each environment, however long the log is. */
function* loadLastVisits({ id, envIds, streams }: RunReach): StateStatements<Map<string, LastVisit>> {
  if (envIds.length === 0 || streams.length === 0) return new Map();
  const { rows } = yield sql`${eachStream({ envIds, streams })}, v as (select e.value env_id, max((
      select max(s.run_id) from ${syncStreamRuns} s where s.env_id = e.value and s.stream = n.value and s.run_id < ${id}
    )) run from e cross join n group by e.value)
    select v.env_id, v.run, count(*) streams
    from v join ${syncStreamRuns} r on r.run_id = v.run and r.env_id = v.env_id group by v.env_id, v.run`;
  return new Map(
    rows.map(({ env_id, run, streams: count }) => [String(env_id), { run: Number(run), streams: Number(count) }]),
  );
}

function* loadRun(id: number): StateStatements<LastRun | null> {
  const { rows } = yield sql`select r.id as run, r.cycle_id as cycle, r.left_over as "leftOver", r.full,
      began.server_time as "cycleBeganAt", (
      select min(f.id) from ${syncRuns} f
      where f.id between r.cycle_id and r.id and f.cycle_id = r.cycle_id and f.left_over = 'failed'
    ) as "failedSince" from ${syncRuns} r
    left join ${syncRuns} began on began.id = r.cycle_id
    where r.id = ${id}`;
  const [last] = rows as unknown as readonly (Omit<LastRun, 'full'> & { readonly full: number })[];
  return last === undefined ? null : { ...last, full: last.full === 1 };
}

/** The environments `e` and the streams `n` of a run, for `with`. */
function eachStream({ envIds, streams }: Omit<RunReach, 'id'>): SQL {
  return sql`with ${textTable('e', envIds)}, ${textTable('n', streams)}`;
}

export function* loadLastTries({ id, envIds, streams }: RunReach): StateStatements<Map<string, LastAttempt[]>> {
  const byEnvironment = new Map<string, LastAttempt[]>();
  if (envIds.length === 0 || streams.length === 0) return byEnvironment;
  const { rows } = yield sql`${eachStream({ envIds, streams })}
    select s.env_id, s.stream, s.run_id run, s.status, s.requests, s.pages from e cross join n cross join ${syncStreamRuns} s
    where s.status <> 'done' and s.env_id = e.value and s.stream = n.value and s.run_id = (
      select max(t.run_id) from ${syncStreamRuns} t
      where t.env_id = e.value and t.stream = n.value and t.run_id < ${id}
    ) order by s.env_id, s.stream`;
  for (const { env_id: envId, ...last } of rows as unknown as readonly (LastAttempt & { env_id: string })[])
    byEnvironment.set(envId, [...(byEnvironment.get(envId) ?? []), last]);
  return byEnvironment;
}

export function* forgetRun(id: number): StateStatements<void> {
  yield sql`delete from ${syncRuns} where ${eq(syncRuns.id, id)}`;
}

/**
 * Records how a run ended, and advances the clocks of environments (see `MirrorClock`), so a reader that starts
 * afterwards starts later than every row of the run. If nothing is left to continue, its cycle ends for all
 * environments (R6).
 */
export function* endRun(run: CycleRun, end: RunEnd, clock: MirrorClock): StateStatements<void> {
  yield* tickTogether(clock);
  yield update(syncRuns, end, eq(syncRuns.id, run.id));
  const earlier = and(gte(syncRuns.id, run.cycle), lt(syncRuns.id, run.id), eq(syncRuns.cycle_id, run.cycle));
  if ((end.left_over ?? null) === null) yield update(syncRuns, { left_over: null }, earlier);
}

/** Whether a run did nothing to a stream whose status is unchanged. Such streams are not logged. */
export function* isUneventful(row: StreamRun): StateStatements<boolean> {
  const { env_id, stream, requests, rows_written, rows_deleted, rows_rejected } = row;
  if (requests + rows_written + rows_deleted + rows_rejected > 0 || row.error !== null) return false;
  const { rows } = yield {
    sql: `select status from sync_stream_runs where env_id = @env_id and stream = @stream
      order by run_id desc limit 1`,
    values: { env_id, stream },
  };
  return rows[0]?.['status'] === row.status;
}

export function* recordStreamRun(row: StreamRun): StateStatements<void> {
  yield upsertInto(syncStreamRuns, row, [syncStreamRuns.run_id, syncStreamRuns.env_id, syncStreamRuns.stream]);
}

/**
 * For each environment, the start of its last finished run, with or without problems. Takes one index lookup per
 * stream, however long the log is.
 */
export function* loadLastStarts(streams: readonly string[]): StateStatements<Map<string, Instant>> {
  const { rows } = yield sql`with ${textTable('n', streams)}
    select e.id, max((
      select r.started_at from ${syncStreamRuns} s join ${syncRuns} r on r.id = s.run_id
      where s.env_id = e.id and s.stream = n.value and r.status in ('done', 'problems')
      order by s.run_id desc limit 1
    )) as started_at
    from ${environments} e cross join n group by e.id`;
  const ended = rows.filter((row) => row['started_at'] !== null);
  return new Map(ended.map((row) => [String(row['id']), String(row['started_at'])]));
}

/** How many of the oldest runs are checked: enough for any schedule, yet cheap. */
const PRUNED_AT_ONCE = 10;

/**
 * Deletes older runs from the log, except the last entry of each stream and the last run that ended well.
 */
export function* pruneLog(before: Instant): StateStatements<void> {
  const oldest = yield* all(queryBuilder.select().from(syncRuns).orderBy(syncRuns.id).limit(PRUNED_AT_ONCE));
  const old = oldest.filter((run) => (run.server_time ?? run.started_at) < before);
  if (old.length === 0) return;
  const { rows } = yield sql`select id from ${syncRuns}
    where command = 'sync' and status = 'done' order by id desc limit 1`;
  const ids = old.map(({ id }) => id).filter((id) => id !== rows[0]?.['id']);
  if (ids.length === 0) return;
  const { run_id, env_id, stream } = syncStreamRuns;
  yield sql`delete from ${syncStreamRuns} where ${inArray(run_id, ids)} and exists (
    select 1 from ${syncStreamRuns} later where later.env_id = ${env_id} and later.stream = ${stream} and later.run_id > ${run_id})`;
  yield sql`delete from ${syncRuns} where ${inArray(syncRuns.id, ids)}`;
}
