import { type MessagePort, parentPort } from 'node:worker_threads';
import { runOnce } from '../session.ts';
import { type EventRelay, type JobReply, relayTo, serializeError, type ThreadJob } from './thread-messages.ts';

async function execute(job: ThreadJob, relay: EventRelay, signal: AbortSignal): Promise<unknown> {
  if (job.do === 'sync')
    return runOnce(job.settings, { signal, onSourceEvent: relay.onSourceEvent, onProgress: relay.onSync });
  // One dynamic import: each one splits the compiled thread of a sync into more files.
  return (await import('./other-jobs.ts')).executeOther(job, relay, signal);
}

function listen(port: MessagePort): void {
  const stop = new AbortController();
  const { signal } = stop;
  port.on('message', async (message: ThreadJob | 'stop') => {
    if (message === 'stop') return stop.abort();
    const relay = relayTo(port);
    let reply: JobReply;
    try {
      const result = await execute(message, relay, signal);
      reply = { type: 'ended', result };
    } catch (error) {
      reply = { type: 'failed', error: serializeError(error) };
    }
    relay.flush();
    port.postMessage(reply);
  });
}

if (parentPort !== null) listen(parentPort);
