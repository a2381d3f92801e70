import { type MessagePort, parentPort } from 'node:worker_threads';
import { SyncError } from '../../core/errors.ts';
import type { WorkWatch } from '../../settings/sync-settings.ts';
import { streamKey } from '../../sync/sync-environments.ts';
import { runOnce } from '../session.ts';
import type { JobEvent, JobReply, SerializedError, ThreadJob } from './thread-messages.ts';

async function execute(job: ThreadJob, watch: WorkWatch<JobEvent>): Promise<unknown> {
  if (job.name === 'sync') return runOnce(job.settings, watch);
  // One dynamic import: each one splits the compiled thread of a sync into more files.
  const { OTHER_JOBS } = await import('./other-jobs.ts');
  const perform = OTHER_JOBS[job.name] as (settings: ThreadJob['settings'], jobWatch: typeof watch) => unknown;
  return perform(job.settings, watch);
}

function listen(port: MessagePort): void {
  const stop = new AbortController();
  port.on('message', async (message: ThreadJob | 'stop') => {
    if (message === 'stop') return stop.abort();
    const { flush, onProgress } = relayTo(port);
    let reply: JobReply;
    try {
      reply = { type: 'ended', result: await execute(message, { signal: stop.signal, onProgress }) };
    } catch (error) {
      reply = { type: 'failed', error: serializeError(error) };
    }
    flush();
    port.postMessage(reply);
  });
}

/** A page causes several events. Progress is sent a few times per second, and only its latest state. */
const RELAY_MS = 50;

function relayTo(port: MessagePort) {
  const waiting = new Map<string | number, object>();
  let [count, timer]: [number, NodeJS.Timeout | null] = [0, null];
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.size === 0) return;
    port.postMessage({ type: 'events', events: [...waiting.values()] } satisfies JobReply);
    waiting.clear();
  };
  const onProgress = (event: JobEvent): void => {
    if (event.type === 'ended') waiting.delete(streamKey(event.environment, { name: event.summary.stream }));
    const hasError = 'error' in event && event.error instanceof Error;
    waiting.set(progressKey(event) ?? count++, hasError ? { ...event, error: serializeError(event.error) } : event);
    timer ??= setTimeout(flush, RELAY_MS);
  };
  return { flush, onProgress };
}

/** The key of events that replace an earlier one of the same key; null for any other event. */
function progressKey(event: JobEvent): string | null {
  if (event.type === 'stream') return streamKey(event.environment, { name: event.stream });
  return event.type === 'progress' ? event.type : null;
}

function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, recovery: null, cause: null };
  const { name, message, stack, cause = null } = error;
  const recovery = error instanceof SyncError ? error.recovery : null;
  return { name, message, stack, recovery, cause: cause === null ? null : serializeError(cause) };
}

if (parentPort !== null) listen(parentPort);
