import { performance } from 'node:perf_hooks';
import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Arguments } from 'yargs';
import { takeLock } from '../../state/lock.ts';
import { SyncError } from '../core/errors.ts';
import { type Instant, instantOfMs } from '../core/instant.ts';
import type { Source, SourceEvent } from '../core/source.ts';
import { createDestination } from '../destination/sqlite/destination.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import { checkMirror, type MirrorFile, mirrorExists, openForWriting } from '../destination/sqlite/open.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from '../destination/sqlite/secondary-indexes.ts';
import { parseBaseUrl } from '../source/base-url.ts';
import { createHttpSource } from '../source/http-source.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { OpenMirror } from '../sync/ports.ts';
import type { Progress } from '../sync/progress.ts';
import { type RunOptions, runSync } from '../sync/run.ts';
import type { RunSummary } from '../sync/summary.ts';
import { readToken } from './settings.ts';

/** All that a run needs to know, from the options of a command. */
export interface SyncSettings extends RunOptions {
  readonly token: string;
  readonly db: string;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly maxRequests: number | null;
}

/** Who watches a run, and how it is stopped. */
export interface Watch {
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
  onSourceEvent(event: SourceEvent): void;
}

/** @throws SyncError `usage` */
export function syncSettings(args: Arguments, env: Readonly<Record<string, string | undefined>>): SyncSettings {
  if (typeof args['base-url'] !== 'string')
    throw new SyncError('usage', 'no base URL: name the service with --base-url or OBSYNC_BASE_URL');
  const number = (name: string, min: number, max = Number.MAX_SAFE_INTEGER): number =>
    inRange(name, args[name], { min, max });
  const names = (args['stream'] ?? []) as string[];
  return {
    baseUrl: parseBaseUrl(args['base-url'], { allowHttp: args['allow-http'] === true }),
    token: readToken(args['token-file'] as string | undefined, env),
    db: args['db'] as string,
    environments: (args['env'] ?? []) as string[],
    streams: CATALOGUE.filter(
      (stream) =>
        (names.length === 0 ? !stream.optional : names.includes(stream.name)) ||
        (stream.optional && args['history'] === true),
    ),
    full: args['full'] === true,
    fullEveryDays: inRange('full-every', args['full-every'], { min: 0, whole: false }),
    overlapSeconds: number('overlap', 0, 86_400 * 30),
    pageSize: number('page-size', 1, 2000),
    allowShrink: args['allow-shrink'] === true,
    concurrency: number('concurrency', 1, 64),
    retries: number('retries', 0, 100),
    timeoutMs: inRange('timeout', args['timeout'], { min: 0.001, max: 86_400, whole: false }) * 1000,
    maxWaitMs: inRange('max-wait', args['max-wait'], { min: 0, max: 86_400 * 7, whole: false }) * 1000,
    // Every run opens with one request that mirrors nothing.
    maxRequests: args['max-requests'] === undefined ? null : number('max-requests', 2),
  };
}

/** One run over HTTP into the mirror file. */
export async function runOnce(settings: SyncSettings, watch: Watch): Promise<RunSummary> {
  const source = openSource(settings, watch);
  const ports = {
    source,
    mirrorExists: mirrorExists(settings.db),
    openMirror: () => openLocked(settings.db, watch.signal),
    clock,
    signal: watch.signal,
    onProgress: watch.onProgress,
  };
  try {
    return await runSync(ports, settings);
  } catch (error) {
    throw fileError(settings.db, error);
  } finally {
    await source.close();
  }
}

/** The service itself, as the settings reach it. */
export function openSource(settings: SyncSettings, watch: Pick<Watch, 'signal' | 'onSourceEvent'>): Source {
  return createHttpSource({
    ...settings,
    userAgent: 'obsync',
    signal: watch.signal,
    clock: { nowMs: () => performance.now(), utcMs: () => Date.now() },
    sleep: (delayMs, signal) => sleepFor(delayMs, undefined, { signal }),
    random: Math.random,
    lists: LISTS,
    onEvent: watch.onSourceEvent,
  });
}

/** Lists of a whole environment; histories belong to a test. */
const LISTS = CATALOGUE.map((stream) => stream.path).filter((path) => !path.includes('{id}'));

/** Opens the mirror under its lock, as every run does. @throws SyncError */
export function openLocked(path: string, stop: AbortSignal): OpenMirror {
  checkMirror(path);
  const lock = takeLock(path);
  try {
    const mirror = openForWriting(path);
    // A killed first sync may have left them out.
    buildSecondaryIndexes(mirror.connection, INDEXED);
    dropSecondaryIndexes(mirror.connection, INDEXED);
    return {
      db: mirror.db,
      destination: (envId, run) => createDestination(mirror, { envId, run, clock }),
      close() {
        try {
          if (!stop.aborted) finish(mirror.connection);
        } catch {
          // The run has ended as it has; the next one begins with what is missing.
        } finally {
          mirror.connection.close();
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What readers gain from; a run that was told to stop has no time for it (R27), the next one begins with it. */
function finish(connection: MirrorFile['connection']): void {
  buildSecondaryIndexes(connection, INDEXED);
  connection.pragma('analysis_limit = 400');
  connection.pragma('optimize');
}

/** Tables that a sync fills by the page; a history is looked up by test while it grows, and keeps its index. */
const INDEXED = CATALOGUE.filter((stream) => stream.method !== 'window').map((stream) => stream.table);

/** The machine's clock; no decision depends on it (R1). */
export function clock(): Instant {
  return instantOfMs(Date.now());
}

/** @throws SyncError `usage` for what is no such number */
export function inRange(
  name: string,
  given: unknown,
  { min, max = Number.MAX_SAFE_INTEGER, whole = true }: { min: number; max?: number; whole?: boolean },
): number {
  const value = Number(given);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new SyncError('usage', `--${name} needs a ${whole ? 'whole ' : ''}number ${range}`);
}
