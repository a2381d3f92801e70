import type { RunSummary } from '../../../src/sync/summary.ts';
import type { TestMirror } from '../test-mirror.ts';
import type { World } from '../world.ts';

const DAY_MS = 86_400_000;

/** No cycle is continued for more than a day of server time (R6). */
export function cyclesAreShort(mirrored: TestMirror): string[] {
  const continued = mirrored.rows(`select r.id, r.server_time as at, c.server_time as began
    from sync_runs r join sync_runs c on c.id = r.cycle_id where r.cycle_id <> r.id and r.server_time is not null`);
  return continued
    .filter(({ at, began }) => !(Date.parse(String(at)) - Date.parse(String(began)) <= DAY_MS + 3_600_000))
    .map(({ id, at, began }) => `run ${id} of ${at} continued a cycle that began at ${began}`);
}

/** A run is not successful while a history that was never read fails (R9, R22). */
export function unreadHistoriesAreTold(
  mirrored: TestMirror,
  world: World,
  { status, streams }: RunSummary,
): readonly string[] {
  const done = streams.filter((each) => each.stream === 'test_executions' && each.status === 'done');
  if (status !== 'done') return [];
  return done.flatMap(({ env_id }) => {
    const { brokenHistories, notLive } = world.environment(env_id);
    // A history that answers 404 doesn't exist (R15).
    if (notLive.has('executions')) return [];
    const failed = mirrored.rows(UNREAD_HISTORIES, env_id).map(({ test_id }) => String(test_id));
    return failed
      .filter((id) => brokenHistories.has(id))
      .map((id) => `${env_id} is done, but the history of ${id} fails`);
  });
}

const UNREAD_HISTORIES = `select f.test_id from history_failures f
  join tests t on t.env_id = f.env_id and t.id = f.test_id and t.deleted_at is null
  where f.env_id = ? and f.run_id is not null and not exists (
    select 1 from test_readings r where r.env_id = f.env_id and r.test_id = f.test_id)`;
