import { setTimeout as sleepFor } from 'node:timers/promises';
import { needsNoReplica, replicaPlace } from './mirror-file.ts';
import type { MirrorStore } from './mirror-store.ts';
import { refreshReplica } from './refresh-replica.ts';
import type { ReplicaSource } from './sql/copied-tables.ts';
import { fileError } from './sqlite/file-error.ts';
import { holdReplicaLog } from './sqlite/replica-file.ts';

export type ReplicaEvent =
  /** The replica equals the mirror as it was at `atMs` or later. */
  | { readonly type: 'refreshed'; readonly rows: number; readonly isWhole: boolean; readonly atMs: number }
  /** The replica stays as it is until a later refresh succeeds; the next failures are not reported. */
  | { readonly type: 'failed'; readonly message: string };

/** Where the replica is; by default, in this user's cache folder. */
export interface FollowedFile {
  readonly replica?: string | undefined;
  readonly allowNetworkFs?: boolean | undefined;
}

export interface FollowWatch {
  readonly signal: AbortSignal;
  onProgress(event: ReplicaEvent): void;
}

/** A commit reaches the replica within two seconds. A mirror that fails twice in a row is asked less often. */
const [POLL_MS, RETRY_MS] = [1000, 10_000];

/**
 * Refreshes a replica until the signal. A poll costs a few small queries; unlike `listen`, it also works behind a
 * pooler.
 * @throws SyncError if the first refresh fails
 */
export async function followReplica(
  store: MirrorStore,
  { replica, allowNetworkFs }: FollowedFile,
  { signal, onProgress }: FollowWatch,
): Promise<void> {
  const { openReplicaSource } = store;
  if (openReplicaSource === null) throw needsNoReplica(store);
  const place = replicaPlace(store, replica, allowNetworkFs);
  const explain = (error: unknown): unknown => store.explain(fileError(place.path, error));
  let [source, failures]: [ReplicaSource | null, number] = [null, 0];
  let releaseLog: (() => void) | null = null;
  try {
    for (let refreshes = 0; !signal.aborted; refreshes++) {
      const begunMs = performance.now();
      try {
        source ??= await openReplicaSource();
        const atMs = Date.now();
        // A refresh doesn't read unchanged pages, and a server that finds one damaged asks for a restart.
        const checksFile = refreshes === 0;
        const report = await refreshReplica(source, place, { signal, checksFile });
        if (report.isWhole) releaseLog?.();
        if (report.isWhole || releaseLog === null) releaseLog = holdReplicaLog(place.path);
        onProgress({ type: 'refreshed', ...report, atMs });
        failures = 0;
      } catch (error) {
        // After a failed statement the server refuses all others of its transaction.
        await source?.close();
        source = null;
        if (refreshes === 0) throw explain(error);
        failures++;
        const message = `the replica stays as it is, and is refreshed again soon: ${(explain(error) as Error).message}`;
        if (failures === 1 && !signal.aborted) onProgress({ type: 'failed', message });
      }
      // During a large scan, a refresh may take longer than a poll should.
      const pollMs = Math.max(POLL_MS, performance.now() - begunMs);
      await sleepFor(failures > 1 ? RETRY_MS : pollMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    releaseLog?.();
    await source?.close();
  }
}
