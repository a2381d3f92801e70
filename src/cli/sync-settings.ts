import type { Arguments } from 'yargs';
import { SyncError } from '../core/errors.ts';
import { type Instant, instantOfMs } from '../core/instant.ts';
import type { KeptQuota } from '../core/quota.ts';
import type { SourceEvent } from '../core/source.ts';
import { parseBaseUrl } from '../source/base-url.ts';
import type { Progress } from '../sync/progress.ts';
import type { RunOptions } from '../sync/run.ts';
import { OptionError, readOption } from './option-error.ts';
import type { OptionName } from './options.ts';
import { readToken, type Token } from './token.ts';

/** Which streams a run is asked for. */
export interface AskedStreams {
  /** All that are not optional when empty. */
  readonly streamNames: readonly string[];
  /** The history of test executions as well. */
  readonly history: boolean;
}

/** All that a run needs to know, from the options of a command. */
export interface SyncSettings extends Omit<RunOptions, 'streams'>, AskedStreams, Token {
  readonly db: string;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly maxRequests: number | null;
  /** What requests of this process outside of any run left of the quota (R23). */
  readonly keptQuota?: KeptQuota | null;
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
  const baseUrl = args['base-url'];
  const number = (name: OptionName, min: number, max = Number.MAX_SAFE_INTEGER): number =>
    inRange(name, args[name], { min, max });
  return {
    baseUrl: readOption('base-url', () => parseBaseUrl(baseUrl, { allowHttp: args['allow-http'] === true })),
    ...readToken(args['token-file'] as string | undefined, env),
    db: args['db'] as string,
    environments: (args['env'] ?? []) as string[],
    streamNames: (args['stream'] ?? []) as string[],
    history: args['history'] === true,
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

/** The machine's clock; no decision depends on it (R1). */
export function clock(): Instant {
  return instantOfMs(Date.now());
}

/** @throws OptionError for what is no such number */
export function inRange(
  name: OptionName,
  given: unknown,
  { min, max = Number.MAX_SAFE_INTEGER, whole = true }: { min: number; max?: number; whole?: boolean },
): number {
  const value = Number(given);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new OptionError(name, `--${name} needs a ${whole ? 'whole ' : ''}number ${range}`);
}
