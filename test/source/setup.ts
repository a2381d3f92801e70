import { onTestFinished } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { PageRequest, Source, SourceEvent } from '../../src/core/ports/source.ts';
import type { HttpSourceOptions } from '../../src/source/connection.ts';
import { createHttpSource } from '../../src/source/http-source.ts';
import { type ApiServer, type Reply, type ScriptedStep, startApiServer } from '../support/api-server.ts';

export const TOKEN = 'the-token-nobody-may-see';

/** Virtual time, which passes only during sleeps. */
export interface VirtualTime {
  readonly clock: HttpSourceOptions['clock'];
  readonly sleep: HttpSourceOptions['sleep'];
  /** The delays of all sleeps, in order of their start. */
  readonly slept: number[];
}

export function virtualTime(utcMs = Date.parse('2026-11-20T04:10:00Z')): VirtualTime {
  let nowMs = 0;
  const slept: number[] = [];
  const sleep = async (delayMs: number, signal: AbortSignal) => {
    slept.push(delayMs);
    const untilMs = nowMs + delayMs;
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw signal.reason;
    nowMs = Math.max(nowMs, untilMs);
  };
  return { clock: { nowMs: () => nowMs, utcMs: () => utcMs + nowMs }, sleep, slept };
}

export interface Setup {
  readonly server: ApiServer;
  readonly source: Source;
  readonly events: SourceEvent[];
  readonly time: VirtualTime;
}

/** A source and a real server that replies by script. Both are closed after the test. */
export async function setUp(steps: ScriptedStep[], options: Partial<HttpSourceOptions> = {}): Promise<Setup> {
  const server = await startApiServer(...steps);
  onTestFinished(() => server.close());
  const time = virtualTime();
  const events: SourceEvent[] = [];
  const source = openSource(server.url, { ...time, onEvent: (event) => events.push(event), ...options });
  return { server, source, events, time };
}

export function openSource(baseUrl: string, options: Partial<HttpSourceOptions> = {}): Source {
  const { clock, sleep } = virtualTime();
  const source = createHttpSource({
    baseUrl,
    token: TOKEN,
    userAgent: 'obsync/test',
    concurrency: 4,
    retries: 2,
    timeoutMs: 20_000,
    maxWaitMs: 900_000,
    maxRequests: null,
    signal: new AbortController().signal,
    random: () => 0.5,
    lists: [['assets'], ['columns'], ['tests']],
    clock,
    sleep,
    ...options,
  });
  onTestFinished(() => source.close());
  return source;
}

export const ASSETS: PageRequest = { path: ['env-1', 'assets'], query: { limit: 2000 }, cursor: null };

/** Requests this many pages at once. */
export const pages = (source: Source, count: number) =>
  Promise.all(Array.from({ length: count }, () => source.page(ASSETS)));

/** A response that tells the quota. */
export const quota = (remaining: number, reset: number): Reply => ({
  headers: { 'ratelimit-limit': '10', 'ratelimit-remaining': `${remaining}`, 'ratelimit-reset': `${reset}` },
});

/** A response that refuses a request for this many seconds. */
export const refusal = (after = '1'): Reply => ({ status: 429, headers: { 'retry-after': after } });

/** A response with an error in the service's envelope, or without one. */
export const errorReply = (status: number, code?: string, message = 'as it is'): Reply => ({
  status,
  body: code === undefined ? '<html>no envelope</html>' : { error: { code, message } },
});

/** The `SyncError` of a failed call. Throws if there was none. */
export async function failureOf(call: Promise<unknown>): Promise<SyncError> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (outcome instanceof SyncError) return outcome;
  throw new Error('expected a SyncError', { cause: outcome });
}
