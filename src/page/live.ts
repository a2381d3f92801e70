import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { AnswerName, PageAnswers, PageProblem, PageQuestion, PageSource } from './page-source.ts';

/** What the page currently knows about a query. */
interface LiveState<T> {
  /** The last answer, which stays while a newer one is fetched. */
  readonly data: T | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly problem: PageProblem | null;
  /** Changes only when the mirror does. */
  readonly tag: string | null;
}

export interface LiveData {
  state<N extends AnswerName>(question: PageQuestion<N>): ReadonlySignal<LiveState<PageAnswers[N]>>;
  /**
   * Fetches now if the answer is stale, and then repeatedly while the tab is visible.
   * @returns a function that stops it
   */
  watch(question: PageQuestion): () => void;
  /**
   * Fetches once if there is no answer yet.
   * @returns a function that stops it
   */
  watchOnce(question: PageQuestion): () => void;
  /** Fetches these again as soon as possible. */
  renew(questions: readonly PageQuestion[]): void;
  /** Drops all answers: another token may see different data. */
  clear(): void;
}

/** An answer is stale after this time. */
const FRESH_MS = 15_000;
/** The delay before a retry when the server is unreachable. */
const AWAY_MS = 5_000;
const TICK_MS = 1_000;
/** Unwatched answers are kept for going back, up to this many. */
const MOST_KEPT = 100;

interface LiveEntry {
  readonly question: PageQuestion;
  readonly state: Signal<LiveState<never>>;
  /** How many components use the answer, and how many of them keep it fresh. */
  watchers: number;
  followers: number;
  /** Whether to fetch it even if nothing keeps it fresh. */
  isWanted: boolean;
  dueMs: number;
  asking: AbortController | null;
}

const NOTHING_YET: LiveState<never> = { data: null, problem: null, tag: null };

/** Calls `onRefused` if the source requires another token, and then fetches nothing until `clear`. */
export function createLiveData(source: PageSource, onRefused: () => void): LiveData {
  const store = new LiveStore(source, onRefused);
  setInterval(() => store.askDue(), TICK_MS);
  document.addEventListener('visibilitychange', () => store.askDue());
  return store;
}

const isDue = ({ watchers, followers, isWanted, asking, dueMs }: LiveEntry): boolean =>
  watchers > 0 && (followers > 0 || isWanted) && asking === null && Date.now() >= dueMs;

class LiveStore implements LiveData {
  readonly #source: PageSource;
  readonly #onRefused: () => void;
  readonly #entries = new Map<string, LiveEntry>();
  #isRefused = false;
  #heldUntilMs = 0;

  constructor(source: PageSource, onRefused: () => void) {
    this.#source = source;
    this.#onRefused = onRefused;
  }

  state<N extends AnswerName>(question: PageQuestion<N>): ReadonlySignal<LiveState<PageAnswers[N]>> {
    return this.#entryOf(question).state as ReadonlySignal<LiveState<never>>;
  }

  watch(question: PageQuestion): () => void {
    return this.#watch(question, 1);
  }

  watchOnce(question: PageQuestion): () => void {
    return this.#watch(question, 0);
  }

  #watch(question: PageQuestion, followers: number): () => void {
    const entry = this.#entryOf(question);
    entry.watchers += 1;
    entry.followers += followers;
    this.#dropUnwatched();
    this.askDue();
    return () => {
      entry.watchers -= 1;
      entry.followers -= followers;
    };
  }

  renew(questions: readonly PageQuestion[]): void {
    for (const question of questions) Object.assign(this.#entryOf(question), { isWanted: true, dueMs: 0 });
    this.askDue();
  }

  clear(): void {
    this.#isRefused = false;
    this.#heldUntilMs = 0;
    this.#forgetAnswers();
    this.askDue();
  }

  askDue(): void {
    if (document.visibilityState !== 'visible' || this.#isRefused || Date.now() < this.#heldUntilMs) return;
    for (const entry of this.#entries.values()) if (isDue(entry)) void this.#ask(entry);
  }

  #entryOf(question: PageQuestion): LiveEntry {
    const key = JSON.stringify([question.name, question.env, Object.entries(question.parameters).sort()]);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = {
      question,
      state: signal(NOTHING_YET),
      watchers: 0,
      followers: 0,
      isWanted: true,
      dueMs: 0,
      asking: null,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  async #ask(entry: LiveEntry): Promise<void> {
    const controller = new AbortController();
    entry.asking = controller;
    const { tag } = entry.state.value;
    const reply = await this.#source.ask(entry.question, { tag, signal: controller.signal });
    // The token was replaced meanwhile.
    if (entry.asking !== controller) return;
    entry.asking = null;
    entry.dueMs = Date.now() + FRESH_MS;
    entry.isWanted = reply.kind === 'problem' && ['wait', 'away'].includes(reply.problem.kind);
    if (reply.kind === 'answer') entry.state.value = { data: reply.data as never, problem: null, tag: reply.tag };
    else if (reply.kind === 'problem') this.#meet(entry, reply.problem);
    else if (entry.state.value.problem !== null) entry.state.value = { ...entry.state.value, problem: null };
  }

  #meet(entry: LiveEntry, problem: PageProblem): void {
    const keepsData = problem.kind === 'wait' || problem.kind === 'away';
    entry.state.value = { ...(keepsData ? entry.state.value : NOTHING_YET), problem };
    if (problem.kind === 'wait') this.#heldUntilMs = Date.now() + problem.seconds * 1000;
    if (problem.kind === 'wait') entry.dueMs = this.#heldUntilMs;
    if (problem.kind === 'away') entry.dueMs = Date.now() + AWAY_MS;
    if (problem.kind !== 'token') return;
    this.#isRefused = true;
    this.#forgetAnswers();
    this.#onRefused();
  }

  #forgetAnswers(): void {
    for (const entry of this.#entries.values()) {
      entry.asking?.abort();
      Object.assign(entry, { asking: null, dueMs: 0, isWanted: true });
      entry.state.value = NOTHING_YET;
    }
  }

  #dropUnwatched(): void {
    for (const [key, { watchers }] of this.#entries)
      if (this.#entries.size > MOST_KEPT && watchers === 0) this.#entries.delete(key);
  }
}
