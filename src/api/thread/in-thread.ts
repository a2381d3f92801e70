import { Worker } from 'node:worker_threads';
import { closeAfter } from '../../core/close-after.ts';
import { SyncError } from '../../core/errors.ts';
import { threadArguments } from '../../core/thread-arguments.ts';
import type { ProgressOptions } from '../../settings/options.ts';
import type { WorkWatch } from '../../settings/sync-settings.ts';
import { deferErrors } from '../defer-errors.ts';
import type { JobEvent, JobReply, SerializedError, ThreadJob, ThreadJobs } from './thread-messages.ts';

/** Runs jobs in a thread, one at a time: SQLite cannot be interrupted, and signals must be handled meanwhile (R27). */
export interface RunThread {
  run<Name extends keyof ThreadJobs>(
    name: Name,
    settings: Parameters<ThreadJobs[Name]>[0],
    watch?: ProgressOptions<EventOf<ThreadJobs[Name]>>,
  ): ReturnType<ThreadJobs[Name]>;
  close(): Promise<void>;
}

type EventOf<Job> = Job extends (settings: never, watch: WorkWatch<infer Event>) => unknown ? Event : never;

/** The thread's file is in the same folder: as JavaScript after the build, as TypeScript in development. */
const THREAD = import.meta.url.endsWith('.ts') ? './run-thread.ts' : './run-thread.js';

export function startRunThread(): RunThread {
  let alive: Worker | null = null;
  /** Replaces a thread that died, for example out of memory, so the next job has one. */
  const worker = (): Worker => {
    if (alive !== null) return alive;
    const begun = new Worker(new URL(THREAD, import.meta.url), threadArguments(process.execArgv));
    // The current job rejects with the error. Without this listener, an error between two jobs would end the program.
    begun.on('error', () => {});
    begun.once('exit', () => {
      if (alive === begun) alive = null;
    });
    alive = begun;
    return begun;
  };
  return {
    run: (name, settings, watch = {}) =>
      doJob(worker(), { name, settings } as ThreadJob, watch as ProgressOptions<JobEvent>) as ReturnType<
        ThreadJobs[typeof name]
      >,
    // Between jobs the thread does not keep the process alive.
    close: async () => void (await alive?.terminate()),
  };
}

/** Runs the work with a thread of its own, and closes the thread afterwards. */
export function withRunThread<Done>(work: (thread: RunThread) => Promise<Done>): Promise<Done> {
  return closeAfter(startRunThread(), work);
}

function doJob(worker: Worker, job: ThreadJob, watch: ProgressOptions<JobEvent>): Promise<unknown> {
  const { signal } = watch;
  const stop = (): void => worker.postMessage('stop');
  const { promise: done, resolve, reject } = Promise.withResolvers<unknown>();
  const listener = deferErrors((event: PostedEvent) => watch.onProgress?.(withError(event)));
  const onMessage = (reply: JobReply): void => {
    if (reply.type === 'events') reply.events.forEach(listener.onProgress);
    else if (reply.type === 'ended') resolve(reply.result);
    else reject(deserializeError(reply.error));
  };
  const onExit = (code: number): void =>
    reject(new Error(`the thread of the run exited with code ${code} before the run had ended`));
  worker.on('message', onMessage).on('error', reject).on('exit', onExit);
  worker.postMessage(job);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  return done.finally(() => {
    signal?.removeEventListener('abort', stop);
    // Removes only these listeners: the worker object has listeners of its own.
    worker.off('message', onMessage).off('error', reject).off('exit', onExit);
    listener.rethrow();
  });
}

type PostedEvent = Extract<JobReply, { type: 'events' }>['events'][number];

function withError(event: PostedEvent): JobEvent {
  const { error } = event;
  const isError = typeof error === 'object' && error !== null;
  return (isError ? { ...event, error: deserializeError(error as SerializedError) } : event) as JobEvent;
}

function deserializeError({ name, message, stack, recovery, cause }: SerializedError): Error {
  const options = cause === null ? {} : { cause: deserializeError(cause) };
  const error = recovery === null ? new Error(message, options) : new SyncError(recovery, message, options);
  return Object.assign(error, { name, stack: stack ?? '' });
}
