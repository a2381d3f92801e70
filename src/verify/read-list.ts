import { cursorFault, nextAttempt, type ReadAttempts } from '../core/decide/paging.ts';
import { SyncError } from '../core/errors.ts';
import type { Page, Query } from '../core/ports/source.ts';
import type { StreamContext } from './contexts.ts';

type OnPage = (page: Page) => void | Promise<void>;

/**
 * Reads a list to its end. `onStart` is called before the first page, and again at each restart. It ends because
 * restarts are limited (R7, R24) and no cursor comes twice (R8).
 */
export async function readList(
  context: StreamContext,
  query: Query,
  { onStart = () => {}, onPage }: { onStart?: () => void; onPage: OnPage },
): Promise<void> {
  const { pageSize } = context.context().options;
  const pageLimit = context.checkpointOf(context.stream.name).pageLimit?.rows ?? pageSize;
  let attempts: ReadAttempts = { restarts: 0, isHalved: false, limit: Math.min(pageSize, pageLimit) };
  for (;;) {
    onStart();
    try {
      return await readPages(context, { ...query, limit: attempts.limit }, onPage);
    } catch (error) {
      const next = error instanceof SyncError ? nextAttempt(error.recovery, attempts) : null;
      if (next === null) throw error;
      attempts = next;
    }
  }
}

async function readPages(
  { environment, stream, source, onRequest, continueOrStop }: StreamContext,
  query: Query,
  onPage: OnPage,
): Promise<void> {
  const visited = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    continueOrStop();
    const page: Page = await source.page({ path: [environment.id, ...stream.path], query, cursor }, onRequest);
    await onPage(page);
    const fault = cursorFault(page, (next) => visited.has(next));
    if (fault !== null) throw new SyncError('restart-round', `${stream.path.join('/')} ${fault}`);
    if (!page.hasMore) return;
    cursor = page.nextCursor as string;
    visited.add(cursor);
  }
}
