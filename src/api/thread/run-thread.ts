import { type MessagePort, parentPort } from 'node:worker_threads';
import { SyncError } from '../../core/errors.ts';
import { executeJob } from './execute-job.ts';
import { relayEvents } from './relay-events.ts';
import type { JobEvent, JobReply, SerializedError, ThreadJob } from './thread-messages.ts';

function listen(port: MessagePort): void {
  const stop = new AbortController();
  port.on('message', async (message: ThreadJob | 'stop') => {
    if (message === 'stop') return stop.abort();
    const { flush, onProgress } = relayEvents((events) =>
      port.postMessage({ type: 'events', events: events.map(serializeEvent) } satisfies JobReply),
    );
    let reply: JobReply;
    try {
      reply = { type: 'ended', result: await executeJob(message, { signal: stop.signal, onProgress }) };
    } catch (error) {
      reply = { type: 'failed', error: serializeError(error) };
    }
    flush();
    port.postMessage(reply);
  });
}

function serializeEvent(event: JobEvent): object {
  return 'error' in event && event.error instanceof Error ? { ...event, error: serializeError(event.error) } : event;
}

function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, recovery: null, cause: null };
  const { name, message, stack, cause = null } = error;
  const recovery = error instanceof SyncError ? error.recovery : null;
  return { name, message, stack, recovery, cause: cause === null ? null : serializeError(cause) };
}

if (parentPort !== null) listen(parentPort);
