import { desc, eq, isNotNull } from 'drizzle-orm';
import { environments as environmentsTable } from '../../schema/assets.ts';
import { mirror as mirrorTable, syncRuns } from '../../schema/sync.ts';
import { loadCheckpoints } from '../../state/checkpoint-store.ts';
import { loadPrunedHistory } from '../../state/pruned-history.ts';
import { all, first, queryBuilder, type StateStatements } from '../../state/state-statements.ts';
import type { Checkpoint, Round } from '../core/checkpoint.ts';
import type { PrunedHistory } from '../core/decide/retention.ts';
import { nextScanAt } from '../core/decide/scan-interval.ts';
import type { RunEnd, StreamRun } from '../core/ports/state-store.ts';
import { isScanned, type StreamName } from '../core/stream.ts';
import { type Instant, secondsBetween } from '../core/time/instant.ts';
import { countMarks as countMarked, countTable, outstandingCounts } from '../destination/sql/lookups.ts';
import { type MirrorScope, rows, type SqlStatements, value } from '../destination/sql/statements.ts';
import { CATALOGUE, type CollectionName } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';

/** The status of a mirror; `status --json` prints it. Fields are named as in the run log's tables. */
export interface StatusReport {
  readonly db: string;
  /** Null until a run has had a successful response. */
  readonly base_url: string | null;
  readonly checked_at: Instant;
  readonly last_run: RunStatusReport | null;
  readonly environments_rejected: number;
  readonly environments: readonly EnvironmentStatus[];
}

/** As in `sync_runs`, except that `killed` is a run whose process ended before recording its end. */
export interface RunStatusReport extends Omit<RunEnd, 'status' | 'ended_at' | 'left_over'> {
  readonly run: number;
  readonly cycle: number;
  readonly status: RunEnd['status'] | 'running' | 'killed';
  readonly started_at: Instant;
  /** Null while the run lasts. */
  readonly ended_at: Instant | null;
  /** 1 if the run was started with `--full`. */
  readonly full: number;
  /** `--full-every` of the run: `auto` or a number of days. */
  readonly full_every: string | null;
  readonly left_over: RunEnd['left_over'] | null;
}

export interface EnvironmentStatus {
  readonly env_id: string;
  readonly environment: string;
  readonly cron: string | null;
  readonly missing_since: Instant | null;
  readonly streams: readonly StreamReportStatus[];
  /** What the retention options have removed from the histories. */
  readonly pruned: readonly Omit<PrunedHistory, 'env_id'>[];
}

export interface StreamReportStatus {
  readonly stream: CollectionName;
  /** Live rows. */
  readonly rows: number;
  readonly watermark: Instant | null;
  readonly watermark_age_seconds: number | null;
  readonly scan_ended_at: Instant | null;
  /** When the next scan is due by `--full-every` of the last sync; null before the first scan, or if it needs none. */
  readonly next_scan_at: Instant | null;
  /** Why the next round must be a scan. */
  readonly scan_due: string | null;
  readonly unavailable: boolean;
  /** The unfinished round. */
  readonly under_way: UnderWay | null;
  readonly rows_held: number;
  readonly rows_rejected: number;
  /** Pending follow-up reads. */
  readonly marks: number;
  readonly last_run: Omit<StreamRun, 'env_id' | 'stream'> | null;
}

interface UnderWay {
  readonly mode: string;
  readonly reason: string;
  readonly since: Instant | null;
  readonly pages: number;
}

/** Reads one consistent state if the statements run in one transaction. */
export function* readStatus(
  { name, scopeOf }: { readonly name: string; scopeOf(envId: string): MirrorScope },
  now: Instant,
): SqlStatements<StatusReport> {
  const found = yield* all(
    queryBuilder.select().from(environmentsTable).orderBy(environmentsTable.name, environmentsTable.id),
  );
  const environments: EnvironmentStatus[] = [];
  const fullEveryDays = yield* readFullEvery();
  const pruned = Map.groupBy(yield* loadPrunedHistory(), ({ env_id }) => env_id);
  for (const { id, name: environment, cron, missing_since } of found)
    environments.push({
      ...{ env_id: id, environment, cron, missing_since },
      streams: yield* readStreams(scopeOf(id), { now, fullEveryDays }),
      pruned: (pruned.get(id) ?? []).filter(({ row_count }) => row_count > 0).map(({ env_id: _, ...each }) => each),
    });
  return {
    db: name,
    base_url: (yield* first(queryBuilder.select().from(mirrorTable)))?.base_url ?? null,
    checked_at: now,
    last_run: yield* readLastRun(),
    environments_rejected: Number(yield* value(scopeOf(''), COUNT_REJECTED_ENVIRONMENTS)),
    environments,
  };
}

/** The last sync as recorded. The record alone cannot tell whether a `running` one still is (see `withVerdict`). */
export function* readLastRun(): StateStatements<RunStatusReport | null> {
  const syncs = queryBuilder.select().from(syncRuns).where(eq(syncRuns.command, 'sync'));
  const stored = yield* first(syncs.orderBy(desc(syncRuns.id)).limit(1));
  if (stored === undefined) return null;
  const { id, cycle_id, command: _, nonce: __, ...rest } = stored;
  return { run: id, cycle: cycle_id, ...rest };
}

/**
 * The report if nothing writes to the mirror any more: a run recorded as `running` was killed, unless it has ended
 * since the report was read. `again` is the last run, read again.
 */
export function withVerdict(report: StatusReport, again: RunStatusReport | null): StatusReport {
  const { last_run: run } = report;
  const isKilled = run !== null && again?.run === run.run && again.status === 'running';
  return { ...report, last_run: isKilled ? { ...run, status: 'killed' } : again };
}

type FullEvery = number | 'auto' | null;

/** `--full-every` of the last sync; null before the first one. */
function* readFullEvery(): StateStatements<FullEvery> {
  const { full_every, id } = syncRuns;
  const last = queryBuilder.select({ full_every }).from(syncRuns).where(isNotNull(full_every)).orderBy(desc(id));
  const found = (yield* first(last.limit(1)))?.full_every ?? null;
  return found === null || found === 'auto' ? found : Number(found);
}

interface StatusTimes {
  readonly now: Instant;
  readonly fullEveryDays: FullEvery;
}

function* readStreams(scope: MirrorScope, times: StatusTimes): SqlStatements<StreamReportStatus[]> {
  const checkpointOf = yield* loadCheckpoints(scope.envId);
  const streams: StreamReportStatus[] = [];
  for (const stream of CATALOGUE) {
    const status = yield* readStream(scope, stream, checkpointOf(stream.name), times);
    if (!stream.optional || status.last_run !== null || status.rows > 0) streams.push(status);
  }
  return streams;
}

function* readStream(
  scope: MirrorScope,
  stream: CatalogueEntry<CollectionName>,
  checkpoint: Checkpoint,
  { now, fullEveryDays }: StatusTimes,
): SqlStatements<StreamReportStatus> {
  const { watermark, round } = checkpoint;
  const { heldRemovals, rejected } = yield* outstandingCounts(scope, stream);
  return {
    stream: stream.name,
    rows: yield* countTable(scope, stream),
    watermark,
    watermark_age_seconds: watermark === null ? null : Math.max(0, Math.round(secondsBetween(watermark, now))),
    scan_ended_at: checkpoint.scanEndedAt,
    next_scan_at: isScanned(stream) && fullEveryDays !== null ? nextScanAt(checkpoint, { fullEveryDays }) : null,
    scan_due: checkpoint.scanDue,
    unavailable: checkpoint.unavailable,
    under_way: round === null ? null : yield* unfinishedRound(round),
    rows_held: heldRemovals,
    rows_rejected: rejected,
    marks: yield* countMarks(scope, stream),
    last_run: yield* readLastStreamRun(scope, stream.name),
  };
}

function* unfinishedRound({ mode, reason, pages, cycle, firstPageAt, read }: Round): StateStatements<UnderWay> {
  const begun = yield* first(queryBuilder.select().from(syncRuns).where(eq(syncRuns.id, cycle)));
  return { mode, reason, pages, since: firstPageAt ?? read?.at ?? begun?.started_at ?? null };
}

function* readLastStreamRun(scope: MirrorScope, stream: StreamName): SqlStatements<StreamReportStatus['last_run']> {
  const sql = `select * from sync_stream_runs where env_id = @env and stream = @stream and run_id = (
    select max(run_id) from sync_stream_runs where env_id = @env and stream = @stream)`;
  const [stored] = (yield* rows(scope, sql, { stream })) as unknown as readonly StreamRun[];
  if (stored === undefined) return null;
  const { env_id: _, stream: __, ...rest } = stored;
  return rest;
}

const COUNT_REJECTED_ENVIRONMENTS =
  "select count(*) from rejected_rows where env_id = @env and stream = 'environments'";

/** Marks of deleted rows need no read. */
function* countMarks(scope: MirrorScope, stream: CatalogueEntry): SqlStatements<number> {
  if (stream.parentTable !== undefined) {
    // Includes reads that were deferred to a later run: the next run makes them.
    const run = Number.MAX_SAFE_INTEGER;
    const { inside, outside } = yield* countMarked(scope, stream, { since: null, settledBefore: null, run });
    return inside + outside;
  }
  const sql = 'select count(*) from marks where env_id = @env and stream = @stream';
  return Number(yield* value(scope, sql, { stream: stream.name }));
}
