import type { RoundCheckpoint } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import type { Destination, DueTest } from '../core/destination.ts';
import { type LocalStep, lookUpHistory } from '../core/next-step.ts';
import type { Page, PageRequest } from '../core/source.ts';
import type { Stream } from '../core/stream.ts';

/**
 * The histories that a stream reads one after the other (R22). While one is on its way, the first pages of the next few are asked
 * for as well; each is committed in its turn (R5). Once one is heavy, each is asked for in its turn (R27).
 */
export interface HistoryQueue {
  /** The step to the next due test, or past the readStep when there is none. */
  next(checkpoint: RoundCheckpoint, context: Context): Promise<LocalStep>;
  /** The answer to this step's request, if that was sent ahead. */
  take(step: Extract<LocalStep, { do: 'fetch' }>): Promise<Page> | undefined;
  /** Waits for the responses that are no longer needed. */
  close(): Promise<void>;
}

interface HistoryRequest {
  readonly stream: Stream;
  readonly destination: Pick<Destination, 'dueTests'>;
  /** Histories asked for side by side. */
  readonly concurrency: number;
  fetch(request: PageRequest): Promise<Page>;
}

/** A request that was sent ahead, and its context. */
interface SentRequest {
  readonly context: Context;
  readonly page: Promise<Page>;
}

/** Tests looked up at once, as many as memory bears: to find the first of them, all tests have to be gone through. */
const LOOKED_UP = 5000;

export function createHistoryQueue({ stream, destination, concurrency, fetch }: HistoryRequest): HistoryQueue {
  const sent = new Map<string, SentRequest>();
  const due = inTurn((most) => destination.dueTests(stream, most));
  let metHeavy = false;
  /** The test whose turn it is: its answer is about to be taken. */
  let atHand: string | null = null;

  async function fetchAhead(id: string, request: PageRequest): Promise<Page> {
    const page = await fetch(request);
    if (Array.isArray(page.items)) return page;
    metHeavy = true;
    // A heavy page is not kept until its turn: it is requested again then.
    if (id !== atHand) sent.delete(id);
    return page;
  }

  function sendAhead(checkpoint: RoundCheckpoint, context: Context): void {
    for (const test of due.next(concurrency)) {
      const move = sent.has(test.id) ? null : lookUpHistory(stream, checkpoint, context, test);
      if (move?.do !== 'fetch') continue;
      const page = fetchAhead(test.id, move.request);
      // What is wrong with it is met in its turn.
      page.catch(() => {});
      sent.set(test.id, { context, page });
    }
  }

  return {
    async next(checkpoint, context) {
      await due.fill();
      if (isLive(checkpoint) && !metHeavy) sendAhead(checkpoint, context);
      const test = due.take();
      atHand = test?.id ?? null;
      return lookUpHistory(stream, checkpoint, sent.get(test?.id ?? '')?.context ?? context, test);
    },
    take({ request, checkpoint }) {
      const id = checkpoint.round.read.history?.testId ?? '';
      const page = request.cursor === null ? sent.get(id)?.page : undefined;
      sent.delete(id);
      return page;
    },
    async close() {
      await Promise.allSettled([...sent.values()].map(({ page }) => page));
    },
  };
}

/**
 * The due tests one after the other, null at their end. None is due beyond a look-up that finds fewer than it might: what becomes
 * due meanwhile is for the round after.
 */
function inTurn(lookUp: (most: number) => Promise<readonly DueTest[]>) {
  let coming: DueTest[] = [];
  let isLast = false;
  return {
    /** To be called before `next` and `take`. */
    async fill(): Promise<void> {
      if (coming.length > 0 || isLast) return;
      coming = [...(await lookUp(LOOKED_UP))];
      isLast = coming.length < LOOKED_UP;
    },
    next: (count: number): readonly DueTest[] => coming.slice(0, count),
    take(): DueTest | null {
      const test = coming.shift() ?? null;
      if (test === null) isLast = false;
      return test;
    },
  };
}

/** Before any history was read it is not known whether the service has them: then each request is weighed (R15). */
function isLive({ watermark, round }: RoundCheckpoint): boolean {
  return watermark !== null || round.pages > 0;
}
