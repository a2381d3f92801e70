import { performance } from 'node:perf_hooks';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { takeLock } from '../../state/lock.ts';
import { loadKeptQuota } from '../../state/quota-store.ts';
import { type KeptQuota, stillLeft } from '../core/quota.ts';
import type { Source } from '../core/source.ts';
import { tableNamed } from '../destination/sql/tables.ts';
import { closeWritten } from '../destination/sqlite/close.ts';
import { createDestination } from '../destination/sqlite/destination.ts';
import { facingFile, fileError } from '../destination/sqlite/file-error.ts';
import { fileState, readState } from '../destination/sqlite/file-state.ts';
import { keepHealthMeans } from '../destination/sqlite/health-means.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from '../destination/sqlite/migrations.ts';
import {
  checkMirror,
  type MirrorFile,
  mirrorExists,
  openForReading,
  openForWriting,
} from '../destination/sqlite/open.ts';
import { createHttpSource } from '../source/http-source.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { OpenMirror } from '../sync/ports.ts';
import { runSync } from '../sync/run.ts';
import type { RunSummary } from '../sync/summary.ts';
import { openQuotaKeeper } from './quota-keeper.ts';
import { streamsAskedFor } from './streams-asked-for.ts';
import { clock, type RunWatcher, type SyncSettings } from './sync-settings.ts';

/** One run over HTTP into the mirror file. */
export async function runOnce(settings: SyncSettings, runWatcher: RunWatcher): Promise<RunSummary> {
  const source = openSource(settings, runWatcher);
  const ports = {
    source,
    keptQuota: settings.keptQuota ?? null,
    mirrorExists: mirrorExists(settings.db),
    openMirror: async () => openLocked(settings.db, runWatcher.signal, QUIET_MS),
    clock,
    signal: runWatcher.signal,
    onProgress: runWatcher.onProgress,
  };
  try {
    return await runSync(ports, { ...settings, catalogue: CATALOGUE, streams: streamsAskedFor(settings) });
  } catch (error) {
    throw fileError(settings.db, error);
  } finally {
    await source.close();
  }
}

/** The service, for requests outside of a run. They stay within the quota that earlier runs and requests left (R23). */
export function resumeSource(settings: SyncSettings, watch: Pick<RunWatcher, 'signal' | 'onSourceEvent'>): Source {
  const source = openSource(settings, watch);
  const left = stillLeft([readKeptQuota(settings.db), settings.keptQuota ?? null], clock());
  if (left !== null) source.resumeQuota?.(left);
  return source;
}

/** The quota that the last run left; null when there is no mirror, or one of another version. */
function readKeptQuota(path: string): KeptQuota | null {
  if (!mirrorExists(path)) return null;
  const mirror = openForReading(path);
  try {
    return readState(mirror, loadKeptQuota());
  } finally {
    mirror.connection.close();
  }
}

/** The service that the settings name. */
function openSource(settings: SyncSettings, watch: Pick<RunWatcher, 'signal' | 'onSourceEvent'>): Source {
  return createHttpSource({
    ...settings,
    quotaKeeper: openQuotaKeeper(settings, (reason) => watch.onSourceEvent({ type: 'unshared', reason })),
    userAgent: 'obsync',
    signal: watch.signal,
    clock: { nowMs: () => performance.now(), utcMs: () => Date.now() },
    sleep: (delayMs, signal) => sleepFor(delayMs, undefined, { signal }),
    random: Math.random,
    lists: LISTS,
    onEvent: watch.onSourceEvent,
  });
}

/** The lists of a whole environment; a history belongs to one test. */
const LISTS = CATALOGUE.map((stream) => stream.path).filter((path) => !path.includes('{id}'));

/** How long the checkpoints of pages without changes wait to be written together: a run without changes writes almost nothing. */
const QUIET_MS = 1000;

/** Opens the mirror under its lock, as every run does. @throws SyncError */
export function openLocked(path: string, stop: AbortSignal, quietMs = 0): OpenMirror {
  checkMirror(path);
  const lock = takeLock(path);
  try {
    const mirror = openIndexed(path, quietMs);
    return {
      state: fileState(mirror, clock),
      destination: (envId, run) => createDestination(mirror, { envId, run, clock }),
      // The lock of the file is that of all its environments.
      hold: async () => {},
      keep: facingFile(path)(() => mirror.transactions.keep()),
      async close() {
        try {
          if (!stop.aborted) finish(mirror.connection);
        } catch {
          // The result of the run stands; the next run makes what is missing.
        } finally {
          closeWritten(mirror);
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openIndexed(path: string, quietMs: number): MirrorFile {
  const mirror = openForWriting(path, quietMs);
  try {
    // A killed first sync may not have made them.
    buildSecondaryIndexes(mirror.connection, INDEXED);
    dropSecondaryIndexes(mirror.connection, INDEXED);
    return mirror;
  } catch (error) {
    closeWritten(mirror);
    throw error;
  }
}

/** Work that makes reads faster. A run that has to stop has no time for it (R27); the next run does it first. */
function finish(connection: MirrorFile['connection']): void {
  buildSecondaryIndexes(connection, INDEXED);
  keepHealthMeans(connection);
  connection.pragma('analysis_limit = 400');
  connection.pragma('optimize');
}

/** Tables whose indexes are made after the first sync. A history is looked up by test while it grows, so it keeps its index. */
const INDEXED = CATALOGUE.filter((stream) => stream.method !== 'window').map((stream) => tableNamed(stream.table));
