import { sql } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { environments as environmentsTable } from '../../schema/assets.ts';
import { mirror as mirrorTable, syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import { loadEnvironments } from '../../state/environment-store.ts';
import { takeLock } from '../../state/lock.ts';
import { claimMirror } from '../../state/run-log.ts';
import type { ListedEnvironment } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import { checkMirror, mirrorExists, openForReading, openForWriting } from '../destination/sqlite/open.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { MirroredEnvironments } from '../sync/run-schedule.ts';

/** What a mirror, if there is one, tells a schedule. @throws SyncError `usage` when it cannot be used */
export function readMirrored(path: string, baseUrl: string): MirroredEnvironments {
  if (!mirrorExists(path)) return { environments: [], lastStarts: new Map() };
  migrate(path);
  const mirror = openForReading(path);
  try {
    // With a row to compare it with, this writes nothing (R26).
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

/** A mirror made by an older version is brought up to date, as a run would; where one is under way, it has done so. */
function migrate(path: string): void {
  // What is no mirror gets no lock beside it.
  checkMirror(path);
  try {
    const lock = takeLock(path);
    try {
      openForWriting(path).connection.close();
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
 * When the last run of each environment began that came to its end, well or with problems: one look into the index for each stream,
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
