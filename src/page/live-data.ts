import { effect, type Signal, signal, untracked } from '@preact/signals';
import type { PageAnswers } from '../page-data/page-data.ts';
import type { AnswerName, PageProblem, PageQuery } from './page-source.ts';
import { createRecordedSource } from './recorded-source.ts';
import { reportData } from './report-data.ts';
import { serverSource } from './server-source.ts';
import { isTokenRefused, token } from './token.ts';

interface LiveState<T> {
  /** The last answer, which stays while a newer one is fetched. */
  readonly data: T | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly problem: PageProblem | null;
  /** Changes only when the mirror does. */
  readonly tag: string | null;
}

export interface WatchOptions {
  readonly once?: boolean;
}

const STALE_AFTER_MS = 15_000;
/** The delay before a retry when the server is unreachable. */
const RETRY_MS = 5_000;
const TICK_MS = 1_000;
/** Unwatched answers are kept for going back, up to this many. */
const MAX_ENTRIES = 100;

interface LiveEntry {
  readonly query: PageQuery;
  readonly state: Signal<LiveState<never>>;
  /** How many components use the answer, and how many of them keep it fresh. */
  watchers: number;
  refreshers: number;
  /** Whether to fetch it even if nothing keeps it fresh. */
  isRequested: boolean;
  dueMs: number;
  inFlight: AbortController | null;
}

const EMPTY_STATE: LiveState<never> = { data: null, problem: null, tag: null };

const source = reportData === null ? serverSource : createRecordedSource(reportData.packed);
const entries = new Map<string, LiveEntry>();
let pausedUntilMs = 0;

export const liveState = <N extends AnswerName>(query: PageQuery<N>): LiveState<PageAnswers[N]> =>
  entryOf(query).state.value;

/**
 * Fetches now if the answer is stale, then repeatedly while the tab is visible; with `once`, only if there is no answer
 * yet. Returns the function to stop it.
 */
export function watch(query: PageQuery, { once = false }: WatchOptions = {}): () => void {
  const entry = entryOf(query);
  const refreshers = once ? 0 : 1;
  entry.watchers += 1;
  entry.refreshers += refreshers;
  for (const [key, each] of entries) if (entries.size > MAX_ENTRIES && each.watchers === 0) entries.delete(key);
  fetchDue();
  return () => {
    entry.watchers -= 1;
    entry.refreshers -= refreshers;
  };
}

export function refetch(queries: readonly PageQuery[]): void {
  for (const query of queries) Object.assign(entryOf(query), { isRequested: true, dueMs: 0 });
  fetchDue();
}

const isDue = ({ watchers, refreshers, isRequested, inFlight, dueMs }: LiveEntry): boolean =>
  watchers > 0 && (refreshers > 0 || isRequested) && inFlight === null && Date.now() >= dueMs;

function fetchDue(): void {
  if (document.visibilityState !== 'visible' || isTokenRefused.peek() || Date.now() < pausedUntilMs) return;
  for (const entry of entries.values()) if (isDue(entry)) void fetchAnswer(entry);
}

setInterval(fetchDue, TICK_MS);
document.addEventListener('visibilitychange', fetchDue);

function entryOf(query: PageQuery): LiveEntry {
  const key = JSON.stringify([query.name, query.env, Object.entries(query.parameters).sort()]);
  const known = entries.get(key);
  if (known !== undefined) return known;
  const counts = { watchers: 0, refreshers: 0, dueMs: 0 };
  const entry = { query, state: signal(EMPTY_STATE), isRequested: true, inFlight: null, ...counts };
  entries.set(key, entry);
  return entry;
}

async function fetchAnswer(entry: LiveEntry): Promise<void> {
  const controller = new AbortController();
  entry.inFlight = controller;
  const { tag } = entry.state.value;
  const reply = await source.fetch(entry.query, { tag, signal: controller.signal });
  // The token was replaced meanwhile.
  if (entry.inFlight !== controller) return;
  entry.inFlight = null;
  entry.dueMs = Date.now() + STALE_AFTER_MS;
  entry.isRequested = reply.kind === 'wait' || reply.kind === 'unreachable';
  if (reply.kind === 'answer') entry.state.value = { data: reply.data as never, problem: null, tag: reply.tag };
  else if (reply.kind !== 'unchanged') handleProblem(entry, reply);
  else if (entry.state.value.problem !== null) entry.state.value = { ...entry.state.value, problem: null };
}

function handleProblem(entry: LiveEntry, problem: PageProblem): void {
  const keepsData = problem.kind === 'wait' || problem.kind === 'unreachable';
  entry.state.value = { ...(keepsData ? entry.state.value : EMPTY_STATE), problem };
  if (problem.kind === 'wait') pausedUntilMs = Date.now() + problem.seconds * 1000;
  if (problem.kind === 'wait') entry.dueMs = pausedUntilMs;
  if (problem.kind === 'unreachable') entry.dueMs = Date.now() + RETRY_MS;
  if (problem.kind !== 'token') return;
  dropAnswers();
  isTokenRefused.value = true;
}

function dropAnswers(): void {
  for (const entry of entries.values()) {
    entry.inFlight?.abort();
    Object.assign(entry, { inFlight: null, dueMs: 0, isRequested: true });
    entry.state.value = EMPTY_STATE;
  }
}

let isFirst = true;
// Data that one token has fetched must not be shown under another one.
effect(() => {
  token.value;
  if (!isTokenRefused.value && !isFirst)
    untracked(() => {
      pausedUntilMs = 0;
      dropAnswers();
      fetchDue();
    });
  isFirst = false;
});
