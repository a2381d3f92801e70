import type { Checkpoint } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import type { CompareDepth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { MirrorReader } from '../core/mirror-reader.ts';
import { cursorFault, nextAttempt, type ReadAttempts } from '../core/paging.ts';
import type { Page, Query, Source } from '../core/source.ts';
import type { Stream, StreamName } from '../core/stream.ts';

/** One environment as it is verified: both sides of it. */
export interface EnvironmentContext {
  /** Every collection that there is. */
  readonly catalogue: readonly Stream[];
  readonly envId: string;
  /** When the service itself last refreshed the environment, as far as it says. */
  readonly refreshedAt: Instant | null;
  /** The same, as the last run met it. */
  readonly metRefreshAt: Instant | null;
  readonly source: Source;
  readonly holding: MirrorReader;
  /** As they were before the first page: a sync beside moves them. */
  readonly checkpoints: ReadonlyMap<StreamName, Checkpoint>;
  /** Feeds that have been read from their watermark on, or are being read. */
  readonly learned: Map<StreamName, Promise<void>>;
}

/** One stream of one environment as it is verified, and the circumstances. */
export interface StreamContext extends EnvironmentContext {
  readonly stream: Stream;
  readonly depth: CompareDepth;
  context(): Context;
  onRequest(this: void): void;
  /** @throws SyncError when the command has to end */
  continueOrStop(): void;
}

/**
 * Reads a list to its end and hands over each page. `begin` is called before the first page, and again each time the read starts
 * anew. It ends: a read starts anew a few times at most (R7, R24), and each page leads on (R8).
 */
export async function readPages(
  streamContext: StreamContext,
  query: Query,
  { begin = () => {}, page }: { begin?: () => void; page: (page: Page) => void | Promise<void> },
): Promise<void> {
  const { pageSize } = streamContext.context().options;
  const pageLimit = streamContext.checkpoints.get(streamContext.stream.name)?.pageLimit?.rows ?? pageSize;
  let attempts: ReadAttempts = { restarts: 0, isHalved: false, limit: Math.min(pageSize, pageLimit) };
  for (;;) {
    begin();
    try {
      return await readOnce(streamContext, { ...query, limit: attempts.limit }, page);
    } catch (error) {
      const next = error instanceof SyncError ? nextAttempt(error.recovery, attempts) : null;
      if (next === null) throw error;
      attempts = next;
    }
  }
}

async function readOnce(
  { envId, stream, source, onRequest, continueOrStop }: StreamContext,
  query: Query,
  onPage: (page: Page) => void | Promise<void>,
): Promise<void> {
  const visited = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    continueOrStop();
    const page: Page = await source.page({ path: [envId, ...stream.path], query, cursor }, onRequest);
    await onPage(page);
    const fault = cursorFault(page, (next) => visited.has(next));
    if (fault !== null) throw new SyncError('restart-round', `${stream.path.join('/')} ${fault}`);
    if (!page.hasMore) return;
    cursor = page.nextCursor as string;
    visited.add(cursor);
  }
}
