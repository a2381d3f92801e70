import { nextAttempt, type ReadAttempts, readPages } from '../core/decide/paging.ts';
import { SyncError } from '../core/errors.ts';
import type { Page, Query } from '../core/ports/source.ts';
import type { StreamContext } from './contexts.ts';

/**
 * Reads a list to its end. `onStart` is called before the first page, and again at each restart. It ends because
 * restarts are limited (R7, R24) and no cursor comes twice (R8).
 */
export async function readList(
  context: StreamContext,
  query: Query,
  { onStart = () => {}, onPage }: { onStart?: () => void; onPage: (page: Page) => void | Promise<void> },
): Promise<void> {
  const { environment, stream, source, onRequest, continueOrStop } = context;
  const { pageSize } = context.context().options;
  const pageLimit = context.checkpointOf(stream.name).pageLimit?.rows ?? pageSize;
  let attempts: ReadAttempts = { restarts: 0, isHalved: false, limit: Math.min(pageSize, pageLimit) };
  for (;;) {
    onStart();
    const { limit } = attempts;
    const fetchPage = (cursor: string | null): Promise<Page> => {
      continueOrStop();
      const path = [environment.id, ...stream.path];
      return source.page({ path, query: { ...query, limit }, cursor }, onRequest);
    };
    try {
      return await readPages(fetchPage, onPage, (fault) => `${stream.path.join('/')} ${fault}`);
    } catch (error) {
      const next = error instanceof SyncError ? nextAttempt(error.recovery, attempts) : null;
      if (next === null) throw error;
      attempts = next;
    }
  }
}
