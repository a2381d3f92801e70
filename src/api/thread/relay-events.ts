import { streamKey } from '../../sync/sync-environments.ts';
import type { JobEvent } from './thread-messages.ts';

/** A page causes several events. Progress is sent a few times per second, and only its latest state. */
const RELAY_MS = 50;

export function relayEvents(send: (events: readonly JobEvent[]) => void) {
  const waiting = new Map<string | number, JobEvent>();
  let [count, timer]: [number, NodeJS.Timeout | null] = [0, null];
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.size === 0) return;
    const events = [...waiting.values()];
    waiting.clear();
    send(events);
  };
  const onProgress = (event: JobEvent): void => {
    if (event.type === 'ended') waiting.delete(streamKey(event.environment, { name: event.summary.stream }));
    waiting.set(progressKey(event) ?? count++, event);
    timer ??= setTimeout(flush, RELAY_MS);
  };
  return { flush, onProgress };
}

/** The key of events that replace an earlier one of the same key; null for any other event. */
function progressKey(event: JobEvent): string | null {
  if (event.type === 'stream') return streamKey(event.environment, { name: event.stream });
  return event.type === 'progress' ? event.type : null;
}
