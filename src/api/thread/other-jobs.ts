import { type CopyReport, type CopyWatch, copyMirror } from '../../destination/copy-mirror.ts';
import { type FollowWatch, followReplica } from '../../destination/follow-replica.ts';
import { verifyExportOnce } from '../compare-export.ts';
import { exportOnce } from '../export-mirror.ts';
import { measureMirror } from '../measure-mirror.ts';
import { openStore } from '../open-store.ts';
import { verifyOnce } from '../verify-mirror.ts';
import type { CopySettings, EventRelay, FollowSettings, ThreadJob } from './thread-messages.ts';

/** Executes every job other than a sync. */
export async function executeOther(
  job: Exclude<ThreadJob, { do: 'sync' }>,
  { onVerify, onExport, onCopy, onReplica, onSourceEvent }: EventRelay,
  signal: AbortSignal,
): Promise<unknown> {
  switch (job.do) {
    case 'verify':
      return verifyOnce(job.settings, { signal, onSourceEvent, ...onVerify });
    case 'export':
      return exportOnce(job.settings, { signal, onProgress: onExport });
    case 'verify-export':
      return verifyExportOnce(job.settings, signal);
    case 'copy':
      return copyOnce(job.settings, { signal, onProgress: onCopy });
    case 'follow':
      return follow(job.settings, { signal, onProgress: onReplica });
    case 'measure':
      return measureMirror(job.db);
  }
}

async function copyOnce({ db, to }: CopySettings, watch: CopyWatch): Promise<CopyReport> {
  return copyMirror(await openStore(db), await openStore(to), watch);
}

async function follow({ db, replica }: FollowSettings, watch: FollowWatch): Promise<void> {
  const store = await openStore(db);
  try {
    return await followReplica(store, replica, watch);
  } catch (error) {
    throw store.explain(error);
  }
}
