import { and, count, desc, eq, max } from 'drizzle-orm';
import { environments as environmentsTable } from '../../schema/assets.ts';
import { marks, mirror as mirrorTable, rejectedRows, syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import { loadCheckpoints } from '../../state/checkpoint-store.ts';
import { type Checkpoint, NO_PROGRESS, type Round } from '../core/checkpoint.ts';
import { type Instant, secondsBetween } from '../core/instant.ts';
import type { RunEnd, StreamRun } from '../core/state-store.ts';
import type { StreamName } from '../core/stream.ts';
import { countMarks as countMarked, countRows, heldBack } from '../destination/sql/lookups.ts';
import { perform, scopeOf } from '../destination/sqlite/driver.ts';
import { readState } from '../destination/sqlite/file-state.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { CATALOGUE, type CollectionName } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';

/** The status of a mirror; `status --json` prints it. The names are those of the run log's tables. */
export interface StatusReport {
  readonly db: string;
  /** Null until the first run has had a successful response. */
  readonly base_url: string | null;
  readonly checked_at: Instant;
  readonly last_run: RunStatusReport | null;
  /** Environments that were rejected. */
  readonly environments_rejected: number;
  readonly environments: readonly EnvironmentStatus[];
}

/** As in `sync_runs`; `killed` is a run whose process ended before it could record its end. */
export interface RunStatusReport extends Omit<RunEnd, 'status' | 'ended_at' | 'left_over'> {
  readonly run: number;
  readonly cycle: number;
  readonly status: RunEnd['status'] | 'running' | 'killed';
  readonly started_at: Instant;
  /** Null while the run lasts. */
  readonly ended_at: Instant | null;
  /** 1 if the run was started with `--full`. */
  readonly full: number;
  readonly left_over: RunEnd['left_over'] | null;
}

export interface EnvironmentStatus {
  readonly env_id: string;
  readonly environment: string;
  readonly cron: string | null;
  readonly missing_since: Instant | null;
  readonly streams: readonly StreamReportStatus[];
}

export interface StreamReportStatus {
  readonly stream: CollectionName;
  /** Live rows. */
  readonly rows: number;
  readonly watermark: Instant | null;
  readonly watermark_age_seconds: number | null;
  readonly scan_ended_at: Instant | null;
  /** Why the next round must be a scan. */
  readonly scan_due: string | null;
  readonly unavailable: boolean;
  /** The round that has not ended yet. */
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

/** Reads everything from one state of the mirror. */
export function readStatus(mirror: MirrorFile, now: Instant): StatusReport {
  return mirror.db.transaction(() => ({
    db: mirror.path,
    base_url: mirror.db.select().from(mirrorTable).get()?.base_url ?? null,
    checked_at: now,
    last_run: readLastRun(mirror),
    environments_rejected: countRejected(mirror, '', 'environments'),
    environments: mirror.db
      .select()
      .from(environmentsTable)
      .orderBy(environmentsTable.name, environmentsTable.id)
      .all()
      .map(({ id, name, cron, missing_since }) => ({
        env_id: id,
        environment: name,
        cron,
        missing_since,
        streams: readStreams(mirror, id, now),
      })),
  }));
}

/** The last sync as it is recorded. If it is `running`, the lock shows whether it still is. */
export function readLastRun({ db }: MirrorFile): RunStatusReport | null {
  const stored = db
    .select()
    .from(syncRuns)
    .where(eq(syncRuns.command, 'sync'))
    .orderBy(desc(syncRuns.id))
    .limit(1)
    .get();
  if (stored === undefined) return null;
  const { id, cycle_id, command: _, ...rest } = stored;
  return { run: id, cycle: cycle_id, ...rest };
}

function readStreams(mirror: MirrorFile, envId: string, now: Instant): StreamReportStatus[] {
  const checkpoints = readState(mirror, loadCheckpoints(envId));
  return CATALOGUE.map((stream) => {
    const checkpoint = checkpoints.get(stream.name) ?? NO_PROGRESS;
    return { stream, status: readStream(mirror, envId, { stream, checkpoint, now }) };
  })
    .filter(({ stream, status }) => !stream.optional || status.last_run !== null || status.rows > 0)
    .map(({ status }) => status);
}

function readStream(
  mirror: MirrorFile,
  envId: string,
  { stream, checkpoint, now }: { stream: CatalogueEntry<CollectionName>; checkpoint: Checkpoint; now: Instant },
): StreamReportStatus {
  const { watermark, round } = checkpoint;
  const scope = scopeOf(mirror, envId);
  return {
    stream: stream.name,
    rows: perform(mirror.prepare, countRows(scope, stream)),
    watermark,
    watermark_age_seconds: watermark === null ? null : Math.max(0, Math.round(secondsBetween(watermark, now))),
    scan_ended_at: checkpoint.scanEndedAt,
    scan_due: checkpoint.scanDue,
    unavailable: checkpoint.unavailable,
    under_way: round === null ? null : underWay(mirror, round),
    rows_held: perform(mirror.prepare, heldBack(scope, stream)),
    rows_rejected: countRejected(mirror, envId, stream.name),
    marks: countMarks(mirror, envId, stream),
    last_run: readLastStreamRun(mirror, envId, stream.name),
  };
}

function underWay({ db }: MirrorFile, { mode, reason, pages, cycle, firstPageAt, read }: Round): UnderWay {
  const begun = db.select().from(syncRuns).where(eq(syncRuns.id, cycle)).get();
  return { mode, reason, pages, since: firstPageAt ?? read?.at ?? begun?.started_at ?? null };
}

function readLastStreamRun({ db }: MirrorFile, envId: string, stream: StreamName): StreamReportStatus['last_run'] {
  const of = and(eq(syncStreamRuns.env_id, envId), eq(syncStreamRuns.stream, stream));
  const last =
    db
      .select({ run: max(syncStreamRuns.run_id) })
      .from(syncStreamRuns)
      .where(of)
      .get()?.run ?? null;
  if (last === null) return null;
  const stored = db
    .select()
    .from(syncStreamRuns)
    .where(and(of, eq(syncStreamRuns.run_id, last)))
    .get();
  if (stored === undefined) return null;
  const { env_id: _, stream: __, ...rest } = stored;
  return rest;
}

function countRejected({ db }: MirrorFile, envId: string, stream: string): number {
  const of = and(eq(rejectedRows.env_id, envId), eq(rejectedRows.stream, stream));
  return db.select({ n: count() }).from(rejectedRows).where(of).get()?.n ?? 0;
}

/** Marks of deleted rows need no read. */
function countMarks(mirror: MirrorFile, envId: string, stream: CatalogueEntry): number {
  if (stream.parentTable !== undefined) {
    // Reads that were left to a later run are counted: the next run makes them.
    const run = Number.MAX_SAFE_INTEGER;
    const counted = countMarked(scopeOf(mirror, envId), stream, { since: null, run });
    const { inside, outside } = perform(mirror.prepare, counted);
    return inside + outside;
  }
  const of = and(eq(marks.env_id, envId), eq(marks.stream, stream.name));
  return mirror.db.select({ n: count() }).from(marks).where(of).get()?.n ?? 0;
}
