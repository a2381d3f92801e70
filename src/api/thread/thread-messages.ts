import type { MessagePort } from 'node:worker_threads';
import { type RecoveryKind, SyncError } from '../../core/errors.ts';
import type { SourceEvent } from '../../core/ports/source.ts';
import type { CopyEvent } from '../../destination/copy-mirror.ts';
import type { ReplicaEvent } from '../../destination/follow-replica.ts';
import type { CollectionsEvent } from '../../settings/collection-events.ts';
import type { SyncSettings } from '../../settings/sync-settings.ts';
import { streamKey } from '../../sync/sync-environments.ts';
import type { VerifyProgress } from '../../verify/verify.ts';
import type { VerifyExportSettings } from '../compare-export.ts';
import type { ExportEvent, ExportSettings } from '../export-mirror.ts';
import type { VerifySettings } from '../verify-mirror.ts';

export type ThreadJob =
  | { readonly do: 'sync'; readonly settings: SyncSettings }
  | { readonly do: 'verify'; readonly settings: VerifySettings }
  | { readonly do: 'export'; readonly settings: ExportSettings }
  | { readonly do: 'verify-export'; readonly settings: VerifyExportSettings }
  | { readonly do: 'copy'; readonly settings: CopySettings }
  | { readonly do: 'follow'; readonly settings: FollowSettings }
  | { readonly do: 'measure'; readonly db: string };

/** The addresses of a copy's source and destination, as given. */
export interface CopySettings {
  readonly db: string;
  readonly to: string;
}

/** The address of a mirror, and the file of its replica. */
export interface FollowSettings {
  readonly db: string;
  readonly replica: string | undefined;
}

/** An error that can be posted in a message. */
export interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly recovery: RecoveryKind | null;
  readonly cause: SerializedError | null;
}

export type ThreadEvent =
  | { readonly of: 'source'; readonly event: SourceEvent }
  | { readonly of: 'sync'; readonly event: CollectionsEvent; readonly error: SerializedError | null }
  | { readonly of: 'verify'; readonly event: VerifyProgress }
  | { readonly of: 'export'; readonly event: ExportEvent }
  | { readonly of: 'copy'; readonly event: CopyEvent }
  | { readonly of: 'replica'; readonly event: ReplicaEvent }
  | { readonly of: 'failure'; readonly error: SerializedError };

export type JobReply =
  | { readonly type: 'events'; readonly events: readonly ThreadEvent[] }
  | { readonly type: 'ended'; readonly result: unknown }
  | { readonly type: 'failed'; readonly error: SerializedError };

export function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, recovery: null, cause: null };
  const { name, message, stack, cause = null } = error;
  const recovery = error instanceof SyncError ? error.recovery : null;
  return { name, message, stack, recovery, cause: cause === null ? null : serializeError(cause) };
}

/** A page causes several events. A stream's progress is sent a few times per second, and only its latest state. */
const RELAY_MS = 50;

export function relayTo(port: MessagePort) {
  const waiting = new Map<string | number, ThreadEvent>();
  let [count, timer]: [number, NodeJS.Timeout | null] = [0, null];
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.size === 0) return;
    port.postMessage({ type: 'events', events: [...waiting.values()] } satisfies JobReply);
    waiting.clear();
  };
  const send = (event: ThreadEvent, key: string | number = count++): void => {
    waiting.set(key, event);
    timer ??= setTimeout(flush, RELAY_MS);
  };
  const onSync = (event: CollectionsEvent): void => {
    if (event.type === 'stream') {
      send({ of: 'sync', event, error: null }, streamKey(event.environment, { name: event.stream }));
    } else if (event.type === 'ended') {
      waiting.delete(streamKey(event.environment, { name: event.summary.stream }));
      send({ of: 'sync', event: { ...event, error: null }, error: event.error && serializeError(event.error) });
    } else {
      send({ of: 'sync', event, error: null });
    }
  };
  return {
    flush,
    onSync,
    onVerify: {
      onProgress: (event: VerifyProgress): void => send({ of: 'verify', event }, 'verify'),
      onFailure: (error: Error): void => send({ of: 'failure', error: serializeError(error) }),
    },
    onExport: (event: ExportEvent): void => send({ of: 'export', event }),
    onCopy: (event: CopyEvent): void => send({ of: 'copy', event }),
    onReplica: (event: ReplicaEvent): void => send({ of: 'replica', event }),
    onSourceEvent: (event: SourceEvent): void => send({ of: 'source', event }),
  };
}

export type EventRelay = ReturnType<typeof relayTo>;
