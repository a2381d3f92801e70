import type { WorkWatch } from '../../settings/sync-settings.ts';
import { runOnce } from '../session.ts';
import type { JobEvent, ThreadJob } from './thread-messages.ts';

export async function executeJob(job: ThreadJob, watch: WorkWatch<JobEvent>): Promise<unknown> {
  if (job.name === 'sync') return runOnce(job.settings, watch);
  // One dynamic import: each one splits the compiled thread of a sync into more files.
  const { OTHER_JOBS } = await import('./other-jobs.ts');
  const perform = OTHER_JOBS[job.name] as (settings: ThreadJob['settings'], jobWatch: typeof watch) => unknown;
  return perform(job.settings, watch);
}
