import { Worker } from 'node:worker_threads';
import { SyncError } from '../../core/errors.ts';
import type { CopyReport, CopyWatch } from '../../destination/copy-mirror.ts';
import type { FollowWatch } from '../../destination/follow-replica.ts';
import type { Measurements } from '../../metrics/measurements.ts';
import type { CollectionsEvent, CollectionsReport } from '../../settings/collection-events.ts';
import type { RunWatcher, SyncSettings } from '../../settings/sync-settings.ts';
import type { RunSummary } from '../../sync/summary.ts';
import type { VerifyExportReport, VerifyExportSettings } from '../compare-export.ts';
import type { ExportReport, ExportSettings, ExportWatch } from '../export-mirror.ts';
import type { VerifySettings, VerifyWatch } from '../verify-mirror.ts';
import type {
  CopySettings,
  FollowSettings,
  JobReply,
  SerializedError,
  ThreadEvent,
  ThreadJob,
} from './thread-messages.ts';

/** Runs jobs in a thread, one at a time: SQLite cannot be interrupted, and signals must be handled meanwhile (R27). */
export interface RunThread {
  sync(settings: SyncSettings, watcher: RunWatcher): Promise<RunSummary>;
  verify(settings: VerifySettings, watch: VerifyWatch): Promise<CollectionsReport>;
  export(settings: ExportSettings, watch: OptionalOf<ExportWatch>): Promise<ExportReport>;
  verifyExport(settings: VerifyExportSettings, signal: AbortSignal | undefined): Promise<VerifyExportReport>;
  copy(settings: CopySettings, watch: OptionalOf<CopyWatch>): Promise<CopyReport>;
  follow(settings: FollowSettings, watch: OptionalOf<FollowWatch>): Promise<void>;
  measure(db: string): Promise<Measurements>;
  close(): Promise<void>;
}

/** A watch whose signal and listeners are optional. */
type OptionalOf<Watch> = { readonly [Name in keyof Watch]?: Watch[Name] | undefined };

/** The thread's file is in the same folder: as JavaScript after the build, as TypeScript in development. */
const THREAD = import.meta.url.endsWith('.ts') ? './run-thread.ts' : './run-thread.js';

export function startRunThread(): RunThread {
  let alive: Worker | null = null;
  /** Replaces a thread that died, for example out of memory, so the next job has one. */
  const worker = (): Worker => {
    if (alive !== null) return alive;
    const begun = new Worker(new URL(THREAD, import.meta.url));
    // The current job rejects with the error. Without this listener, an error between two jobs would end the program.
    begun.on('error', () => {});
    begun.once('exit', () => {
      if (alive === begun) alive = null;
    });
    alive = begun;
    return begun;
  };
  return {
    sync: (settings, watch) =>
      doJob(worker(), { do: 'sync', settings }, watch.signal, (event) => {
        if (event.of === 'source') watch.onSourceEvent(event.event);
        if (event.of === 'sync') watch.onProgress(event.error === null ? event.event : withError(event));
      }) as Promise<RunSummary>,
    verify: (settings, watch) =>
      doJob(worker(), { do: 'verify', settings }, watch.signal, (event) => {
        if (event.of === 'source') watch.onSourceEvent(event.event);
        if (event.of === 'verify') watch.onProgress(event.event);
        if (event.of === 'failure') watch.onFailure(deserializeError(event.error));
      }) as Promise<CollectionsReport>,
    export: (settings, watch) =>
      doJob(worker(), { do: 'export', settings }, watch.signal, (event) => {
        if (event.of === 'export') watch.onProgress?.(event.event);
      }) as Promise<ExportReport>,
    verifyExport: (settings, signal) =>
      doJob(worker(), { do: 'verify-export', settings }, signal, () => {}) as Promise<VerifyExportReport>,
    copy: (settings, watch) =>
      doJob(worker(), { do: 'copy', settings }, watch.signal, (event) => {
        if (event.of === 'copy') watch.onProgress?.(event.event);
      }) as Promise<CopyReport>,
    follow: (settings, watch) =>
      doJob(worker(), { do: 'follow', settings }, watch.signal, (event) => {
        if (event.of === 'replica') watch.onProgress?.(event.event);
      }) as Promise<void>,
    measure: (db) => doJob(worker(), { do: 'measure', db }, undefined, () => {}) as Promise<Measurements>,
    // Between jobs the thread does not keep the process alive.
    close: async () => void (await alive?.terminate()),
  };
}

/** Runs the work with a thread of its own, and closes the thread afterwards. */
export async function withRunThread<Done>(work: (thread: RunThread) => Promise<Done>): Promise<Done> {
  const thread = startRunThread();
  try {
    return await work(thread);
  } finally {
    await thread.close();
  }
}

function withError({ event, error }: Extract<ThreadEvent, { of: 'sync' }>): CollectionsEvent {
  return { ...event, error: error === null ? null : deserializeError(error) } as CollectionsEvent;
}

function deserializeError({ name, message, stack, recovery, cause }: SerializedError): Error {
  const options = cause === null ? {} : { cause: deserializeError(cause) };
  const error = recovery === null ? new Error(message, options) : new SyncError(recovery, message, options);
  return Object.assign(error, { name, stack: stack ?? '' });
}

function doJob(
  worker: Worker,
  job: ThreadJob,
  signal: AbortSignal | undefined,
  onEvent: (event: ThreadEvent) => void,
): Promise<unknown> {
  const stop = (): void => worker.postMessage('stop');
  const { promise: done, resolve, reject } = Promise.withResolvers<unknown>();
  // A throwing listener does not stop the run: the caller gets the error after the run has ended.
  let thrown: { readonly error: unknown } | null = null;
  const emit = (event: ThreadEvent): void => {
    try {
      onEvent(event);
    } catch (error) {
      thrown ??= { error };
    }
  };
  const onMessage = (reply: JobReply): void => {
    if (reply.type === 'events') reply.events.forEach(emit);
    else if (thrown !== null) reject(thrown.error);
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
  });
}
