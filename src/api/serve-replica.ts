import type { ReplicaEvent } from '../destination/follow-replica.ts';
import { replicaPlace } from '../destination/mirror-file.ts';
import { openStore } from './open-store.ts';
import type { ServerLog } from './server-logger.ts';
import { startRunThread } from './thread/in-thread.ts';
import type { FollowSettings } from './thread/thread-messages.ts';

/** Starts to follow a mirror in a thread; the replica is complete when the promise resolves. @throws SyncError */
export async function startFollowing(settings: FollowSettings, log: ServerLog) {
  const store = await openStore(settings.db);
  const { path } = replicaPlace(store, settings.replica);
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  let [equalAtMs, hasFailed] = [0, false];
  const onProgress = (event: ReplicaEvent): void => {
    if (event.type === 'refreshed') {
      if (hasFailed) log.info('the replica follows the mirror again');
      [equalAtMs, hasFailed] = [event.atMs, false];
      ready.resolve();
      return;
    }
    log.warn(event.message);
    hasFailed = true;
  };
  const thread = startRunThread();
  const ended = thread.run('follow', settings, { signal: stop.signal, onProgress });
  const close = async (): Promise<void> => {
    stop.abort();
    await ended.catch(() => {});
    await thread.close();
  };
  try {
    await Promise.race([ready.promise, ended]);
  } catch (error) {
    await thread.close();
    throw error;
  }
  ended.catch((error: unknown) => log.error(`the replica is no longer refreshed: restart the server (${error})`));
  return {
    path,
    /** The mirror's name in messages. */
    of: store.display,
    /** How long ago the replica was last seen to equal the mirror. */
    lagSeconds: (nowMs: number) => (nowMs - equalAtMs) / 1000,
    close,
  };
}
