import type { RetentionPolicy } from '../core/decide/retention.ts';
import { usageError } from '../core/errors.ts';
import type { KeptQuota } from '../core/quota/quota.ts';
import { LOOKBACK_DAYS, SCORE_DAYS } from '../core/read-api.ts';
import type { StreamName } from '../core/stream.ts';
import { DAY_SECONDS, durationSeconds } from '../core/time/duration.ts';
import { type Instant, instantOfMs } from '../core/time/instant.ts';
import { parseBaseUrl } from '../source/base-url.ts';
import { proxiesOf } from '../source/proxies.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { givenAddress } from './addresses/mirror-address.ts';
import { alertSettings } from './alert-settings.ts';
import { flagOf, OptionError, readChoice, readDuration, readNumber, readOption } from './option-error.ts';
import { OPTIONS, type RETENTION_OPTIONS } from './option-table.ts';
import type { NumberOption, ProgressOptions, SyncOptions } from './options.ts';
import { readCertificates } from './read-certificates.ts';
import { readToken } from './token.ts';

/** The settings of a run, derived from the caller's options. */
export interface SyncSettings extends ReturnType<typeof syncSettings> {
  /** The quota left by this process's requests outside of runs (R23). */
  readonly keptQuota?: KeptQuota | null;
}

/** Stops a piece of work when `signal` is aborted, and receives its events. */
export interface WorkWatch<Event> {
  readonly signal: AbortSignal;
  onProgress(event: Event): void;
}

/** Validates the options and fills in the defaults. @throws SyncError `usage` */
export function syncSettings(options: SyncOptions) {
  const { maxRequests } = options;
  const number = (name: NumberOption & keyof SyncOptions): number => readNumber(name, options[name]);
  return {
    ...readToken(options),
    ...serviceAddress(options),
    ca: readCertificates(options.caFile),
    db: givenAddress(options),
    allowNetworkFs: options.allowNetworkFs ?? OPTIONS.allowNetworkFs.default,
    environments: options.env ?? [],
    /** If empty, all streams that are not optional. */
    streamNames: (options.stream ?? []).map((name) => readChoice('stream', name, OPTIONS.stream.choices)),
    history: options.history ?? OPTIONS.history.default,
    full: options.full ?? OPTIONS.full.default,
    fullEveryDays: readFullEvery(options.fullEvery),
    overlapSeconds: number('overlap'),
    pageSize: number('pageSize'),
    graceSeconds: readDuration('grace', options.grace),
    allowShrink: options.allowShrink ?? OPTIONS.allowShrink.default,
    retention: readRetention(options),
    concurrency: number('concurrency'),
    retries: number('retries'),
    timeoutMs: number('timeout') * 1000,
    maxWaitMs: number('maxWait') * 1000,
    alerts: options.alerts === undefined ? null : alertSettings(options.alerts),
    shareQuota: options.shareQuota ?? true,
    maxRequests: maxRequests === undefined ? null : number('maxRequests'),
  };
}

/** Days, or the word for the interval that each stream's own scan determines (R13). @throws OptionError */
function readFullEvery(given: SyncOptions['fullEvery'] = OPTIONS.fullEvery.default): number | 'auto' {
  return given === OPTIONS.fullEvery.range.word ? given : readNumber('fullEvery', given);
}

function serviceAddress({ baseUrl: given, allowHttp = OPTIONS.allowHttp.default }: SyncOptions) {
  if (typeof given !== 'string') throw usageError('no base URL: name the service with --base-url or OBSYNC_BASE_URL');
  const baseUrl = readOption('baseUrl', () => parseBaseUrl(given, { allowHttp }));
  return { baseUrl, proxies: proxiesOf(baseUrl, process.env) };
}

export function selectStreams({
  streamNames,
  history,
}: Pick<SyncSettings, 'streamNames' | 'history'>): CatalogueEntry[] {
  return CATALOGUE.filter(
    ({ name, optional }) =>
      (streamNames.length === 0 ? !optional : streamNames.includes(name)) || (optional && history),
  );
}

/** The streams whose age counts. Histories don't: some runs read them, and others don't. */
export const USUAL_STREAMS: readonly StreamName[] = selectStreams({ streamNames: [], history: false }).map(
  ({ name }) => name,
);

/** The signal and the listener in the options; by default, events are dropped. */
export function watchOf<Event>(options: ProgressOptions<Event>): WorkWatch<Event> {
  const { signal = new AbortController().signal, onProgress = () => {} } = options;
  return { signal, onProgress };
}

/** The machine's clock; no decision depends on it (R1). */
export function clock(): Instant {
  return instantOfMs(Date.now());
}

type RetentionOption = (typeof RETENTION_OPTIONS)[number];

/** What is pruned must be older than what the service still shows, or the next read would bring it back. */
const [LEAST_SCORE_DAYS, LEAST_EXECUTION_DAYS] = [SCORE_DAYS + 1, LOOKBACK_DAYS];

/** How long histories are kept. @throws OptionError */
function readRetention(options: Pick<SyncOptions, RetentionOption>): RetentionPolicy {
  return {
    thinScoresDays: readDays('thinScores', options.thinScores ?? OPTIONS.thinScores.default, LEAST_SCORE_DAYS),
    keepScoresDays: readDays('keepScores', options.keepScores ?? OFF, LEAST_SCORE_DAYS),
    keepExecutionsDays: readDays('keepExecutions', options.keepExecutions ?? OFF, LEAST_EXECUTION_DAYS),
    keepRunsDays: readDays('keepRuns', options.keepRuns ?? OPTIONS.keepRuns.default, 7),
  };
}

const OFF = 'off';

function readDays(name: RetentionOption, given: string, leastDays: number): number | null {
  if (given === OFF) return null;
  const seconds = durationSeconds(given);
  if (seconds !== null && seconds >= leastDays * DAY_SECONDS) return Math.floor(seconds / DAY_SECONDS);
  throw new OptionError(name, `--${flagOf(name)} needs at least ${leastDays} days, such as 120d, or off`);
}
