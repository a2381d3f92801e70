import type { Checkpoint } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import type { CompareDepth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { MirrorReader } from '../core/mirror-reader.ts';
import { MAX_RESTARTS } from '../core/recover.ts';
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
 * Every page of one read, told of one after the other; `begin` is called at its first page, and again whenever it has to start
 * anew (R7, R24). It ends: the starts are few, and each page leads on (R8).
 */
export async function readPages(
  streamContext: StreamContext,
  query: Query,
  { begin = () => {}, page }: { begin?: () => void; page: (page: Page) => void | Promise<void> },
): Promise<void> {
  const { pageSize } = streamContext.context().options;
  let limit = Math.min(pageSize, streamContext.checkpoints.get(streamContext.stream.name)?.pageLimit?.rows ?? pageSize);
  for (let restarts = 0, halved = false; ; ) {
    begin();
    try {
      return await walk(streamContext, { ...query, limit }, page);
    } catch (error) {
      const recovery = error instanceof SyncError ? error.recovery : null;
      if (recovery === 'restart-read' && restarts < MAX_RESTARTS) restarts += 1;
      else if (recovery === 'halve-page' && !halved && limit > 1) [halved, limit] = [true, Math.ceil(limit / 2)];
      else throw error;
    }
  }
}

async function walk(
  streamContext: StreamContext,
  query: Query,
  onPage: (page: Page) => void | Promise<void>,
): Promise<void> {
  const path = [streamContext.envId, ...streamContext.stream.path];
  const met = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    streamContext.continueOrStop();
    const page: Page = await streamContext.source.page({ path, query, cursor }, streamContext.onRequest);
    await onPage(page);
    if (!page.hasMore) return;
    if (page.nextCursor === null || met.has(page.nextCursor))
      throw new SyncError(
        'restart-round',
        `${streamContext.stream.path.join('/')} gives no cursor that leads on: the service pages wrongly`,
      );
    met.add(page.nextCursor);
    cursor = page.nextCursor;
  }
}
