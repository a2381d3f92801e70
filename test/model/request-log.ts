import type { Page, Query } from '../../src/core/ports/source.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { entryNamed } from '../support/catalogue.ts';
import type { RequestTime, StreamRequest } from './test-mirror.ts';

/** A page as the connector received it. */
export interface ServedPage extends Page {
  readonly cursor: string | null;
  /** T when it arrived. Another stream's response may lower T before the commit (R1). */
  readonly serverTime: string | null;
  /** Whether the mirror has committed it. */
  committed: boolean;
}

/** What one read has returned so far. `at` and `lastMark` are those of its first request. */
export interface ServedRead {
  readonly path: readonly string[];
  readonly query: Query;
  /** T of the run that began it. */
  at: Instant | null;
  /** T of the run that requested its first page, which may have been the first response with a `Date` (R1). */
  firstRequestAt: Instant | null;
  /** What decided the bound when it was first requested; a resumed round keeps it (R3, R6). */
  readonly bound: Pick<RequestTime, 'latest' | 'overlapSeconds'>;
  readonly lastMark: number;
  pages: ServedPage[];
  /** Items of slices that were committed without the rest of their page. They count as returned (R27). */
  sliceItems: readonly Record<string, unknown>[];
}

/** What the service returned in each stream's current round, by environment and stream. */
export interface RequestLog {
  /** Call when a run begins: pages that an earlier process did not commit are lost. */
  startRun(): void;
  recordRequest(
    request: StreamRequest,
    begun: Pick<ServedRead, 'at' | 'firstRequestAt' | 'lastMark'>,
    when: RequestTime,
  ): void;
  recordPage(request: StreamRequest, page: Page, serverTime: string | null): void;
  /** A slice of the read's last page is in the mirror: the items that `isCommitted` accepts. */
  recordSlice(read: ServedRead, isCommitted: (item: Record<string, unknown>) => boolean): void;
  /** The read whose last page is not committed yet. Histories are read concurrently, so `testId` selects one. */
  uncommitted(envId: string, stream: CollectionName, testId?: string): ServedRead | null;
  readsOf(envId: string, stream: CollectionName): readonly ServedRead[];
  replaceReads(envId: string, stream: CollectionName, reads: readonly ServedRead[]): void;
  /** Call when a round is over: the next one decides its bounds itself. */
  forgetBounds(envId: string, stream: CollectionName): void;
}

/** Path and query without the page size: a read stays the same after its limit was halved (R24). */
export function readIdentity({ path, query: { limit: _, ...query } }: Pick<ServedRead, 'path' | 'query'>): string {
  return JSON.stringify([path, query]);
}

export function isComplete({ pages }: ServedRead): boolean {
  return pages.at(-1)?.hasMore === false;
}

/** Whether the mirror has committed the whole read. */
function isCommitted(read: ServedRead): boolean {
  return isComplete(read) && read.pages.every(({ committed }) => committed);
}

/** Whether the read is neither a feed nor a lookup by id. */
export function isScan({ query }: ServedRead): boolean {
  return Object.keys(query).every((name) => ['limit', 'disabled'].includes(name));
}

export function isFeed({ query }: Pick<ServedRead, 'query'>): boolean {
  return 'synced_since' in query || 'deleted_since' in query;
}

/** Whether the read is of the parent's list, which only confirms that rows exist (R13, R18). */
export function isConfirmation({ path: [, ...path] }: ServedRead, stream: CollectionName): boolean {
  const { parent, parentTable } = entryNamed(stream);
  return path.join('/') === (parentTable ?? parent)?.path.join('/');
}

/** Items of slices come first, so later versions win. */
export function itemsOf({ sliceItems, pages }: ServedRead): readonly Record<string, unknown>[] {
  return [...sliceItems, ...pages.flatMap(({ items }) => items as Record<string, unknown>[])];
}

export function createRequestLog(): RequestLog {
  const all = new Map<string, ServedRead[]>();
  const bounds = new Map<string, ServedRead['bound']>();
  const keyOf = ({ path: [envId = ''], stream }: StreamRequest): string => `${envId} ${stream}`;
  const of = (key: string): ServedRead[] => all.get(key) ?? [];
  return {
    startRun() {
      for (const [key, reads] of all) {
        for (const read of reads) read.pages = read.pages.filter(({ committed }) => committed);
        all.set(
          key,
          reads.filter(({ pages, sliceItems }) => pages.length + sliceItems.length > 0),
        );
      }
    },
    recordRequest(request, begun, when) {
      const { path, query, cursor } = request;
      if (cursor !== null) return;
      const key = `${keyOf(request)} ${query['synced_since'] ?? query['deleted_since']}`;
      const bound = bounds.get(key) ?? when;
      bounds.set(key, bound);
      const before = of(keyOf(request));
      // While the service's time stands still, two rounds of feeds have the same bound (R9).
      const isAgain = (each: ServedRead): boolean =>
        readIdentity(each) === readIdentity(request) && !(isFeed(each) && isCommitted(each));
      // A read that was committed whole starts anew, as when a mark is looked up by two rounds (R18).
      const sliceItems = before.find((each) => isAgain(each) && !isCommitted(each))?.sliceItems ?? [];
      const others = before.filter((each) => !isAgain(each));
      all.set(keyOf(request), [...others, { path, query, ...begun, bound, pages: [], sliceItems }]);
    },
    recordPage(request, page, serverTime) {
      const { cursor } = request;
      const read = of(keyOf(request)).findLast((each) => readIdentity(each) === readIdentity(request));
      const end = read?.pages.findIndex(({ nextCursor }) => cursor !== null && nextCursor === cursor) ?? -1;
      read?.pages.splice(end + 1, read.pages.length, { ...page, cursor, serverTime, committed: false });
    },
    recordSlice(read, isCommitted) {
      const items = (read.pages.at(-1)?.items ?? []) as Record<string, unknown>[];
      read.sliceItems = [...read.sliceItems, ...items.filter(isCommitted)];
    },
    uncommitted: (envId, stream, testId) =>
      // A prefetched page may be requested again in its turn (R27).
      of(`${envId} ${stream}`).findLast(
        ({ pages, path }) => pages.at(-1)?.committed === false && (testId === undefined || path[2] === testId),
      ) ?? null,
    readsOf: (envId, stream) => of(`${envId} ${stream}`),
    replaceReads: (envId, stream, reads) => {
      all.set(`${envId} ${stream}`, [...reads]);
    },
    forgetBounds: (envId, stream) => {
      for (const key of bounds.keys()) if (key.startsWith(`${envId} ${stream} `)) bounds.delete(key);
    },
  };
}
