import type { Database } from 'better-sqlite3';
import { SyncError } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { wantedOf } from '../core/schedule/wanted-environments.ts';
import { EPOCH, type Instant } from '../core/time/instant.ts';
import type { MirrorRun } from './manifest.ts';
import { EXPORT_RELATIONS, type ExportRelation } from './relation.ts';
import { quoteName } from './sql-names.ts';

/** An environment of the mirror, with the mirror's own time in it (R21). */
export interface EnvironmentClock {
  readonly env_id: string;
  readonly instant: Instant | null;
}

/** The environments that were asked for by id or name; all if none was asked for. @throws SyncError `usage` */
export function environmentsOf(connection: Database, asked: readonly string[]): EnvironmentClock[] {
  const listed = mirroredEnvironments(connection);
  const { chosen, unknown } = wantedOf(listed, asked);
  if (unknown.length > 0)
    throw new SyncError(
      'usage',
      `no environment ${unknown.join(', ')} in the mirror: choose from ${listed.map(({ name }) => name).join(', ')}`,
    );
  const clockOf = connection.prepare<[string], Instant>('select mirrored_at from mirror_environments where env_id = ?');
  return chosen.map(({ id }) => ({ env_id: id, instant: clockOf.pluck().get(id) ?? null }));
}

/** All that have rows, even if the list of environments does not have them. */
function mirroredEnvironments(connection: Database): ListedEnvironment[] {
  const tables = EXPORT_RELATIONS.filter(({ kind }) => kind === 'table');
  const ids = tables.map(({ name, envColumn }) => {
    const [table, id] = [quoteName(name), quoteName(envColumn)];
    // One look into the index for each environment, however many rows it has.
    return `select * from (with recursive e(id) as (select min(${id}) from ${table}
      union all select (select min(${id}) from ${table} where ${id} > e.id) from e where e.id is not null)
      select id from e where id is not null)`;
  });
  const statement = `select i.id, coalesce(v.name, i.id) as name, v.cron
    from (${ids.join(' union ')}) i left join environments v on v.id = i.id order by i.id`;
  return connection.prepare(statement).all() as ListedEnvironment[];
}

/** The mirror's own time as of which it is exported: the newest of its environments. */
export function exportInstant(environments: readonly EnvironmentClock[]): Instant {
  return environments.reduce((newest, { instant }) => (instant !== null && instant > newest ? instant : newest), EPOCH);
}

/** The tables that were asked for, by default all; with `views`, all views as well. @throws SyncError `usage` */
export function relationsOf(asked: readonly string[], views: boolean): ExportRelation[] {
  const names = EXPORT_RELATIONS.map(({ name }) => name);
  const unknown = asked.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new SyncError('usage', `no table ${unknown.join(', ')}: choose from ${names.join(', ')}`);
  return EXPORT_RELATIONS.filter(
    ({ name, kind }) => asked.includes(name) || (kind === 'view' && views) || (kind === 'table' && asked.length === 0),
  );
}

/** The newest run of the mirror; null if it has none. */
export function newestRun(connection: Database): MirrorRun | null {
  const newest = connection.prepare<[], MirrorRun>('select id, nonce from sync_runs order by id desc limit 1').get();
  return newest ?? null;
}

/**
 * Whether everything that the mirror had at an export is part of what it has now; `run` was its newest run then. A
 * mirror that was restored from a backup made before that run has another run under its id, or none. One made during
 * the run has it without an end for ever: what it committed after the backup is lost.
 */
export function continuesFrom(connection: Database, run: MirrorRun | null): boolean {
  if (run === null) return false;
  const sql = `select 1 from sync_runs r where r.id = ? and r.nonce = ? and r.nonce <> ''
    and (r.ended_at is not null or not exists (select 1 from sync_runs l where l.id > r.id))`;
  return connection.prepare(sql).get(run.id, run.nonce) !== undefined;
}
