import type { CollectionName } from '../../../src/streams/catalogue.ts';
import type { RunSummary } from '../../../src/sync/summary.ts';
import { FEED_STREAMS } from '../../support/catalogue.ts';
import type { TestMirror } from '../test-mirror.ts';

const DAY_MS = 86_400_000;

/** No cycle is continued for more than a day of server time (R6). */
export function cyclesAreShort(mirrored: TestMirror): string[] {
  const continued = mirrored.rows(`select r.id, r.server_time as at, c.server_time as began
    from sync_runs r join sync_runs c on c.id = r.cycle_id where r.cycle_id <> r.id and r.server_time is not null`);
  return continued
    .filter(({ at, began }) => !(Date.parse(String(at)) - Date.parse(String(began)) <= DAY_MS + 3_600_000))
    .map(({ id, at, began }) => `run ${id} of ${at} continued a cycle that began at ${began}`);
}

/** A successful cycle with --full has scanned every stream that it reports as done (R6). */
export function fullScansEverything(mirrored: TestMirror, { cycle, status, streams }: RunSummary): string[] {
  if (status !== 'done') return [];
  const done = streams.filter((each) => each.status === 'done' && FEED_STREAMS.some((name) => name === each.stream));
  return done
    .filter(({ env_id, stream }) => {
      const { scanEndedCycle } = mirrored.checkpoint(stream as CollectionName, env_id);
      return scanEndedCycle === null || scanEndedCycle < Number(cycle);
    })
    .map(({ env_id, stream }) => `${env_id} ${stream} is done with --full but was not scanned in cycle ${cycle}`);
}
