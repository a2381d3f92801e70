import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../../core/errors.ts';

/** When the first and last migrations of this build were written, in milliseconds since 1970. */
export interface MigrationTimes {
  readonly first: number;
  readonly last: number;
}

export function migrationTimesOf(times: readonly number[]): MigrationTimes {
  return { first: Math.min(...times), last: Math.max(...times) };
}

/** The times of the migrations in a folder, read from their journal alone. */
export function migrationTimesIn(folder: string): MigrationTimes {
  const journal = readFileSync(join(folder, 'meta', '_journal.json'), 'utf8');
  const { entries } = JSON.parse(journal) as { entries: { when: number }[] };
  return migrationTimesOf(entries.map(({ when }) => when));
}

/** Refuses a mirror that a newer build migrated; `found` is its last migration's time. @throws SyncError `usage` */
export function refuseNewer(found: number, { last }: MigrationTimes, name: string): void {
  if (found <= last) return;
  throw usageError(`${name} was made by a newer obsync: update obsync, or name another mirror with --db`);
}

/** Refuses a mirror made before the first release, which cannot be migrated. @throws SyncError `usage` */
export function refuseUnreleased(found: number, { first }: MigrationTimes, name: string): void {
  if (found === 0 || found >= first) return;
  const text = `${name} was made by an unreleased build of obsync and cannot be brought up to date: name a new mirror with --db (keep this one if it has history that the service no longer returns)`;
  throw usageError(text);
}

/** Refuses a mirror that must be migrated before it can be read. @throws SyncError `usage` */
export function refuseOlder(found: number, times: MigrationTimes, name: string): void {
  refuseUnreleased(found, times, name);
  if (found >= times.last) return;
  throw usageError(`${name} was made by an older obsync: run \`obsync sync\` once to bring it up to date`);
}
