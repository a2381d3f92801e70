import type { Page, Query } from '../../src/core/ports/source.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { entryNamed } from '../support/catalogue.ts';
import type { StreamRequest } from './test-mirror.ts';

/** A page as it came to the connector. */
export interface ServedPage extends Page {
  readonly cursor: string | null;
  /** Its commit is in the mirror. */
  committed: boolean;
}

/** What was served of one read, from its first page on; `at` and `lastMark` are as of its first request. */
export interface ServedRead {
  readonly path: readonly string[];
  readonly query: Query;
  /** T of the run that began it. */
  readonly at: Instant | null;
  /** T of the run that asked for its first page. */
  readonly firstRequestAt: Instant | null;
  /** The newest server time that the run had seen when this bound was first requested: a continued round keeps it (R3). */
  readonly boundDecidedAt: Instant | null;
  readonly lastMark: number;
  pages: ServedPage[];
}

/** The model's own account of what it has served, by environment and stream, since the stream's round began. */
export interface RequestLog {
  /** A run begins: what an earlier process was served and did not commit is lost. */
  startRun(): void;
  /** `latest` is the newest server time that the run has seen. */
  recordRequest(
    request: StreamRequest,
    when: Pick<ServedRead, 'at' | 'firstRequestAt' | 'lastMark'>,
    latest: Instant | null,
  ): void;
  recordPage(request: StreamRequest, page: Page): void;
  /** The read whose last page is not committed yet; of histories, which are asked for side by side, the one of this test. */
  uncommitted(envId: string, stream: CollectionName, testId?: string): ServedRead | null;
  readsOf(envId: string, stream: CollectionName): readonly ServedRead[];
  replaceReads(envId: string, stream: CollectionName, reads: readonly ServedRead[]): void;
}

/** What a read asks for, its page size aside: a read goes on as the same one at half the limit (R24). */
export function readIdentity({ path, query: { limit: _, ...query } }: Pick<ServedRead, 'path' | 'query'>): string {
  return JSON.stringify([path, query]);
}

export function isComplete({ pages }: ServedRead): boolean {
  return pages.at(-1)?.hasMore === false;
}

/** Neither a feed nor an answer by ids. */
export function isScan({ query }: ServedRead): boolean {
  return Object.keys(query).every((name) => ['limit', 'disabled'].includes(name));
}

export function isFeed({ query }: Pick<ServedRead, 'query'>): boolean {
  return 'synced_since' in query || 'deleted_since' in query;
}

/** An answer of the leading list, which says who is there and nothing else (R13, R18). */
export function isConfirmation({ path: [, ...path] }: ServedRead, stream: CollectionName): boolean {
  const { parent, parentTable } = entryNamed(stream);
  return path.join('/') === (parentTable ?? parent)?.path.join('/');
}

export function itemsOf(read: ServedRead): readonly Record<string, unknown>[] {
  return read.pages.flatMap(({ items }) => items as Record<string, unknown>[]);
}

export function createRequestLog(): RequestLog {
  const all = new Map<string, ServedRead[]>();
  const boundDecisions = new Map<string, Instant | null>();
  const keyOf = ({ path: [envId = ''], stream }: StreamRequest): string => `${envId} ${stream}`;
  const of = (key: string): ServedRead[] => all.get(key) ?? [];
  return {
    startRun() {
      for (const [key, reads] of all) {
        for (const read of reads) read.pages = read.pages.filter(({ committed }) => committed);
        all.set(
          key,
          reads.filter(({ pages }) => pages.length > 0),
        );
      }
    },
    recordRequest(request, when, latest) {
      const { path, query, cursor } = request;
      if (cursor !== null) return;
      const key = `${keyOf(request)} ${query['synced_since'] ?? query['deleted_since']}`;
      if (!boundDecisions.has(key)) boundDecisions.set(key, latest);
      const read = { path, query, ...when, boundDecidedAt: boundDecisions.get(key) ?? null, pages: [] };
      const others = of(keyOf(request)).filter((each) => readIdentity(each) !== readIdentity(read));
      all.set(keyOf(request), [...others, read]);
    },
    recordPage(request, page) {
      const { cursor } = request;
      const read = of(keyOf(request)).find((each) => readIdentity(each) === readIdentity(request));
      const end = read?.pages.findIndex(({ nextCursor }) => cursor !== null && nextCursor === cursor) ?? -1;
      read?.pages.splice(end + 1, read.pages.length, { ...page, cursor, committed: false });
    },
    uncommitted: (envId, stream, testId) =>
      // What was asked for ahead may be asked for again in its turn (R27).
      of(`${envId} ${stream}`).findLast(
        ({ pages, path }) => pages.at(-1)?.committed === false && (testId === undefined || path[2] === testId),
      ) ?? null,
    readsOf: (envId, stream) => of(`${envId} ${stream}`),
    replaceReads: (envId, stream, reads) => void all.set(`${envId} ${stream}`, [...reads]),
  };
}
