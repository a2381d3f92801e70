import type { Database } from 'better-sqlite3';
import { usageError } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { wantedOf } from '../core/schedule/wanted-environments.ts';
import { EPOCH, type Instant } from '../core/time/instant.ts';
import type { ExportManifest, MirrorRun } from './manifest.ts';
import { EXPORT_RELATIONS, type ExportRelation, quoteName } from './relation.ts';

/** The environments requested by id or name; all if none is requested. @throws SyncError `usage` */
export function environmentsOf(connection: Database, requested: readonly string[]): ExportManifest['environments'] {
  const listed = mirroredEnvironments(connection);
  const { chosen, unknown } = wantedOf(listed, requested);
  if (unknown.length > 0)
    throw usageError(
      `no environment ${unknown.join(', ')} in the mirror: choose from ${listed.map(({ name }) => name).join(', ')}`,
    );
  const clockOf = connection.prepare<[string], Instant>('select mirrored_at from mirror_environments where env_id = ?');
  return chosen.map(({ id }) => ({ env_id: id, instant: clockOf.pluck().get(id) ?? null }));
}

/** All environments that have rows, even if the list of environments lacks them. */
function mirroredEnvironments(connection: Database): ListedEnvironment[] {
  const tables = EXPORT_RELATIONS.filter(({ kind }) => kind === 'table');
  const ids = tables.map(({ name, envColumn }) => {
    const [table, id] = [quoteName(name), quoteName(envColumn)];
    // One index lookup per environment, however many rows it has.
    return `select * from (with recursive e(id) as (select min(${id}) from ${table}
      union all select (select min(${id}) from ${table} where ${id} > e.id) from e where e.id is not null)
      select id from e where id is not null)`;
  });
  const statement = `select i.id, coalesce(v.name, i.id) as name, v.cron
    from (${ids.join(' union ')}) i left join environments v on v.id = i.id order by i.id`;
  return connection.prepare(statement).all() as ListedEnvironment[];
}

/** The mirror's own time of the export (R21): the newest of its environments. */
export function exportInstant(environments: ExportManifest['environments']): Instant {
  return environments.reduce((newest, { instant }) => (instant !== null && instant > newest ? instant : newest), EPOCH);
}

/** The requested tables, by default all; with `views`, all views too. @throws SyncError `usage` */
export function relationsOf(requested: readonly string[], views: boolean): ExportRelation[] {
  const names = EXPORT_RELATIONS.map(({ name }) => name);
  const unknown = requested.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw usageError(`no table ${unknown.join(', ')}: choose from ${names.join(', ')}`);
  return EXPORT_RELATIONS.filter(
    ({ name, kind }) =>
      requested.includes(name) || (kind === 'view' && views) || (kind === 'table' && requested.length === 0),
  );
}

export function newestRun(connection: Database): MirrorRun | null {
  const newest = connection.prepare<[], MirrorRun>('select id, nonce from sync_runs order by id desc limit 1').get();
  return newest ?? null;
}

/**
 * Whether the mirror still has everything that it had at an export; `run` was its newest run then. A mirror restored
 * from an older backup has another run under that id, or none. One backed up during the run has it forever unfinished:
 * what the run committed after the backup is lost.
 */
export function continuesFrom(connection: Database, run: MirrorRun | null): boolean {
  if (run === null) return false;
  const sql = `select 1 from sync_runs r where r.id = ? and r.nonce = ? and r.nonce <> ''
    and (r.ended_at is not null or not exists (select 1 from sync_runs l where l.id > r.id))`;
  return connection.prepare(sql).get(run.id, run.nonce) !== undefined;
}
