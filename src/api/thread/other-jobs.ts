import { translateErrors } from '../../core/errors.ts';
import { copyMirror } from '../../destination/copy-mirror.ts';
import { followReplica } from '../../destination/follow-replica.ts';
import { MEASUREMENTS } from '../../metrics/measurements.ts';
import { verifyExportOnce } from '../compare-export.ts';
import { exportOnce } from '../export-mirror.ts';
import { openStore } from '../open-store.ts';
import { readMirrorRows } from '../read-mirror-rows.ts';
import { verifyOnce } from '../verify-mirror.ts';
import type { ThreadJobs } from './thread-messages.ts';

export const OTHER_JOBS: Omit<ThreadJobs, 'sync'> = {
  verify: verifyOnce,
  export: exportOnce,
  verifyExport: (settings, { signal }) => verifyExportOnce(settings, signal),
  copy: async ({ db, to }, watch) => copyMirror(await openStore(db), await openStore(to), watch),
  async follow({ db, ...file }, watch) {
    const store = await openStore(db);
    return translateErrors(followReplica(store, file, watch), store.explain);
  },
  // Counting a million rows takes a while.
  measure: (db) => readMirrorRows(db, MEASUREMENTS),
};
