import { loadEnvironments } from '../../state/environment-store.ts';
import { belongsTo, loadLastStarts } from '../../state/run-log.ts';
import type { StateStatements } from '../../state/state-statements.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { STREAM_NAMES } from '../streams/catalogue.ts';
import type { MirroredEnvironments } from '../sync/run-schedule.ts';
import { openStore } from './open-store.ts';

/**
 * The environments of a mirror and their last runs; empty without a mirror.
 * @throws SyncError `usage` if the mirror belongs to another base URL (R26)
 */
export async function readMirrored(db: string, baseUrl: string): Promise<MirroredEnvironments> {
  const store = await openStore(db);
  if (!(await store.exists())) return { environments: [], lastStarts: new Map() };
  await store.bringUpToDate();
  return store.read(function* () {
    yield* belongsTo(baseUrl, store.display);
    return { environments: yield* listedEnvironments(), lastStarts: yield* loadLastStarts(STREAM_NAMES) };
  });
}

/** The environments that the last run found listed. */
export async function readEnvironments(db: string): Promise<readonly ListedEnvironment[]> {
  return (await openStore(db)).read(listedEnvironments);
}

function* listedEnvironments(): StateStatements<ListedEnvironment[]> {
  const listed = (yield* loadEnvironments()).filter((row) => row['missing_since'] === null);
  return listed.map((row) => ({
    id: String(row['id']),
    name: String(row['name']),
    cron: row['cron'] as string | null,
  }));
}
