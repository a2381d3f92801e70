import type { RoundCheckpoint } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import { type LocalStep, lookUpHistory } from '../core/decide/next-step.ts';
import { dueTestsQuery } from '../core/decide/scan-interval.ts';
import type { Destination, DueTest } from '../core/ports/destination.ts';
import type { Page, PageRequest } from '../core/ports/source.ts';
import type { Stream } from '../core/stream.ts';

/**
 * The histories that a stream reads one after the other (R22). While one is read, the first pages of the next few are
 * prefetched; they are committed in order (R5). After the first heavy page, prefetching stops (R27).
 */
export interface HistoryQueue {
  /** Call this when a round begins: the last one may have been given up with tests in the queue. */
  restart(): void;
  /** The step to the next due test, or the end of this step if no test is due. */
  next(checkpoint: RoundCheckpoint, context: Context): Promise<LocalStep>;
  /** The prefetched response to this step's request, if there is one. */
  take(step: Extract<LocalStep, { do: 'fetch' }>): Promise<Page> | undefined;
  /** Waits for responses that are no longer needed. */
  close(): Promise<unknown>;
}

interface HistoryRequest {
  readonly stream: Stream;
  readonly destination: Pick<Destination, 'dueTests'>;
  /** How many histories are requested at the same time. */
  readonly concurrency: number;
  fetch(request: PageRequest): Promise<Page>;
}

interface SentRequest {
  readonly context: Context;
  readonly page: Promise<Page>;
}

/**
 * How many due tests are looked up at once. Each lookup scans all tests, so there should be few; memory limits the
 * number.
 */
const LOOKED_UP = 5000;

export function createHistoryQueue({ stream, destination, concurrency, fetch }: HistoryRequest): HistoryQueue {
  const sent = new Map<string, SentRequest>();
  /** `isLast` if the lookup returned fewer tests than requested: later ones belong to the next round. */
  let due = { tests: [] as DueTest[], isLast: false };
  let metHeavy = false;
  /** The test whose response is taken next. */
  let current: DueTest | null = null;

  async function fetchAhead(id: string, request: PageRequest): Promise<Page> {
    const page = await fetch(request);
    const isHeavy = !Array.isArray(page.items);
    metHeavy ||= isHeavy;
    // A heavy page is not kept in memory; it is requested again when needed.
    if (isHeavy && id !== current?.id) sent.delete(id);
    return page;
  }

  function sendAhead(checkpoint: RoundCheckpoint, context: Context): void {
    for (const test of due.tests.slice(0, concurrency)) {
      const step = sent.has(test.id) ? null : lookUpHistory(stream, checkpoint, context, test);
      if (step?.do !== 'fetch') continue;
      const page = fetchAhead(test.id, step.request);
      // An error is handled when the response is taken.
      page.catch(() => {});
      sent.set(test.id, { context, page });
    }
  }

  return {
    restart() {
      due = { tests: [], isLast: false };
    },
    async next(checkpoint, context) {
      if (due.tests.length === 0 && !due.isLast) {
        const tests = await destination.dueTests(dueTestsQuery(checkpoint, context, LOOKED_UP));
        due = { tests: [...tests], isLast: tests.length < LOOKED_UP };
      }
      if (isLive(checkpoint) && !metHeavy) sendAhead(checkpoint, context);
      current = due.tests.shift() ?? null;
      return lookUpHistory(stream, checkpoint, sent.get(current?.id ?? '')?.context ?? context, current);
    },
    take({ request, checkpoint }) {
      const id = checkpoint.round.read.history?.testId ?? '';
      const page = request.cursor === null ? sent.get(id)?.page : undefined;
      sent.delete(id);
      return page;
    },
    close: () => Promise.allSettled([...sent.values()].map(({ page }) => page)),
  };
}

/**
 * Whether the service is known to have histories. Until then nothing is prefetched, because every request may be in
 * vain (R15).
 */
function isLive({ watermark, unavailable, round }: RoundCheckpoint): boolean {
  return (watermark !== null && !unavailable) || round.pages > 0;
}
