import { Registry } from '@prometheus-io/client';
import { cacheMeasurements } from '../metrics/cache-measurements.ts';
import { type Measurements, SYNC_TIMES } from '../metrics/measurements.ts';
import { addMirrorMetrics } from '../metrics/mirror-metrics.ts';
import { mirrorHealth } from '../metrics/sync-ages.ts';
import { readMirrorRows } from './read-mirror-rows.ts';
import type { ServedMetrics } from './serve-metrics.ts';

/** The metrics of the mirror at an address, which may not exist yet. `measure` reads what takes a while. */
export function mirrorMetrics(db: string, measure: () => Promise<Measurements>): Required<ServedMetrics> {
  const registry = new Registry();
  const setMetrics = addMirrorMetrics([registry]);
  const measurements = cacheMeasurements({ read: (statements) => readMirrorRows(db, statements), measure });
  return {
    contentType: registry.contentType,
    async text() {
      setMetrics(await measurements(), Date.now());
      return registry.metrics();
    },
    health: async (maxSeconds) => mirrorHealth(await readMirrorRows(db, SYNC_TIMES), Date.now(), maxSeconds),
  };
}
