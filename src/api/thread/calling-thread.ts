import type { ProgressOptions } from '../../settings/options.ts';
import { watchOf } from '../../settings/sync-settings.ts';
import { deferErrors } from '../defer-errors.ts';
import { executeJob } from './execute-job.ts';
import type { JobRunner } from './in-thread.ts';
import { relayEvents } from './relay-events.ts';
import type { JobEvent, ThreadJob, ThreadJobs } from './thread-messages.ts';

/** Performs jobs in the calling thread, which PostgreSQL does not block: starting another one takes 50 ms of CPU. */
export const CALLING_THREAD: JobRunner = {
  run: (name, settings, watch = {}) =>
    perform({ name, settings } as ThreadJob, watch as ProgressOptions<JobEvent>) as ReturnType<ThreadJobs[typeof name]>,
};

function perform(job: ThreadJob, options: ProgressOptions<JobEvent>): Promise<unknown> {
  const { signal, onProgress } = watchOf(options);
  const listener = deferErrors(onProgress);
  const relay = relayEvents((events) => events.forEach(listener.onProgress));
  return executeJob(job, { signal, onProgress: relay.onProgress }).finally(() => {
    relay.flush();
    listener.rethrow();
  });
}
