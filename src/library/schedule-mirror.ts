import { sql } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { environments as environmentsTable } from '../../schema/assets.ts';
import { mirror as mirrorTable, syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import { loadEnvironments } from '../../state/environment-store.ts';
import { takeLock } from '../../state/lock.ts';
import { claimMirror } from '../../state/run-log.ts';
import type { ListedEnvironment } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import { closeWritten } from '../destination/sqlite/close.ts';
import { checkMirror, mirrorExists, openForReading, openForWriting } from '../destination/sqlite/open.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { MirroredEnvironments } from '../sync/run-schedule.ts';

/** The environments of a mirror and their last runs; nothing without a mirror. @throws SyncError `usage` when it cannot be used */
export function readMirrored(path: string, baseUrl: string): MirroredEnvironments {
  if (!mirrorExists(path)) return { environments: [], lastStarts: new Map() };
  migrate(path);
  const mirror = openForReading(path);
  try {
    // The mirror already has a base URL, so this compares and writes nothing (R26).
    if (mirror.db.select().from(mirrorTable).get() !== undefined) claimMirror(mirror.db, baseUrl);
    return { environments: listedEnvironments(mirror.db), lastStarts: lastStarts(mirror.db) };
  } finally {
    mirror.connection.close();
  }
}

/** The environments that the last run found listed. */
export function readEnvironments(path: string): readonly ListedEnvironment[] {
  const mirror = openForReading(path);
  try {
    return listedEnvironments(mirror.db);
  } finally {
    mirror.connection.close();
  }
}

/** Migrates a mirror of an older version, as a run does. When a run holds the lock, it has already done so. */
function migrate(path: string): void {
  // No lock file is made beside a file that is not a mirror.
  checkMirror(path);
  try {
    const lock = takeLock(path);
    try {
      closeWritten(openForWriting(path));
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'locked') throw error;
  }
}

function listedEnvironments(db: BetterSQLite3Database): ListedEnvironment[] {
  return loadEnvironments(db)
    .filter((row) => row['missing_since'] === null)
    .map((row) => ({ id: String(row['id']), name: String(row['name']), cron: row['cron'] as string | null }));
}

/**
 * For each environment, the start of its last run that ended, with or without problems. It takes one index lookup per stream,
 * however long the log is.
 */
function lastStarts(db: BetterSQLite3Database): Map<string, string> {
  const streams = JSON.stringify(CATALOGUE.map(({ name }) => name));
  const lastStart = sql`(select r.started_at from ${syncStreamRuns} s join ${syncRuns} r on r.id = s.run_id
    where s.env_id = ${environmentsTable.id} and s.stream = n.value and r.status in ('done', 'problems')
    order by s.run_id desc limit 1)`;
  const rows = db
    .select({ envId: environmentsTable.id, startedAt: sql<string | null>`max(${lastStart})` })
    .from(environmentsTable)
    .crossJoin(sql`json_each(${streams}) n`)
    .groupBy(environmentsTable.id)
    .all();
  return new Map(rows.flatMap(({ envId, startedAt }) => (startedAt === null ? [] : [[envId, startedAt] as const])));
}
