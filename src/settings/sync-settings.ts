import { SyncError } from '../core/errors.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import type { KeptQuota } from '../core/quota/quota.ts';
import { type Instant, instantOfMs } from '../core/time/instant.ts';
import { parseBaseUrl } from '../source/base-url.ts';
import { STREAM_NAMES } from '../streams/catalogue.ts';
import type { RunOptions } from '../sync/run.ts';
import { givenAddress } from './addresses/mirror-address.ts';
import type { CollectionsEvent } from './collection-events.ts';
import { DEFAULTS } from './defaults.ts';
import { inRange, oneOf, readOption } from './option-error.ts';
import type { SyncOptions } from './options.ts';
import { type AccessToken, readToken } from './token.ts';

/** Which streams a run reads. */
export interface StreamSelection {
  /** When empty, all streams that are not optional. */
  readonly streamNames: readonly string[];
  /** Also the history of test executions. */
  readonly history: boolean;
}

/** The settings of a run, made from the options of its caller. */
export interface SyncSettings extends Omit<RunOptions, 'catalogue' | 'streams'>, StreamSelection, AccessToken {
  readonly db: string;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly maxRequests: number | null;
  readonly shareQuota: boolean;
  /** The quota that this process's requests outside of runs left (R23). */
  readonly keptQuota?: KeptQuota | null;
}

/** The listeners of a run, and the signal that stops it. */
export interface RunWatcher {
  readonly signal: AbortSignal;
  onProgress(collectionsEvent: CollectionsEvent): void;
  onSourceEvent(event: SourceEvent): void;
}

/** Checks the options and fills in the defaults. @throws SyncError `usage` */
export function syncSettings(options: SyncOptions): SyncSettings {
  const given = { ...DEFAULTS, ...withoutUndefined(options) };
  const { baseUrl } = given;
  if (typeof baseUrl !== 'string')
    throw new SyncError('usage', 'no base URL: name the service with --base-url or OBSYNC_BASE_URL');
  const number = (name: keyof SyncOptions, range: Parameters<typeof inRange>[2]): number =>
    inRange(name, given[name], range);
  return {
    baseUrl: readOption('baseUrl', () => parseBaseUrl(baseUrl, { allowHttp: given.allowHttp })),
    ...readToken(given),
    db: givenAddress(options),
    environments: given.env ?? [],
    streamNames: (given.stream ?? []).map((name) => oneOf('stream', name, STREAM_NAMES)),
    history: given.history,
    full: given.full,
    fullEveryDays: number('fullEvery', { min: 0, whole: false }),
    overlapSeconds: number('overlap', { min: 0, max: 86_400 * 30 }),
    pageSize: number('pageSize', { min: 1, max: 2000 }),
    allowShrink: given.allowShrink,
    concurrency: number('concurrency', { min: 1, max: 64 }),
    retries: number('retries', { min: 0, max: 100 }),
    timeoutMs: number('timeout', { min: 0.001, max: 86_400, whole: false }) * 1000,
    maxWaitMs: number('maxWait', { min: 0, max: 86_400 * 7, whole: false }) * 1000,
    shareQuota: given.shareQuota,
    // The first request of every run lists the environments and mirrors no rows.
    maxRequests: given.maxRequests === undefined ? null : number('maxRequests', { min: 2 }),
  };
}

/** The options that are set; an option that is undefined keeps its default. */
function withoutUndefined<Options extends object>(options: Options): SetOptions<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as SetOptions<Options>;
}

type SetOptions<Options> = { [Name in keyof Options]: Exclude<Options[Name], undefined> };

/** The listeners that the options give; without any, events are dropped. */
export function watchOf({ signal, onProgress = () => {} }: Pick<SyncOptions, 'signal' | 'onProgress'>): RunWatcher {
  return { signal: signal ?? new AbortController().signal, onProgress, onSourceEvent: onProgress };
}

/** The machine's clock; no decision depends on it (R1). */
export function clock(): Instant {
  return instantOfMs(Date.now());
}
