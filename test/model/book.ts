import type { Page, Query } from '../../src/core/ports/source.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { entryNamed } from '../support/catalogue.ts';
import type { Fetch } from './mirrored.ts';

/** A page as it came to the connector. */
export interface ServedPage extends Page {
  readonly cursor: string | null;
  /** Its commit is in the mirror. */
  committed: boolean;
}

/** What was served of one read, from its first page on; `at` and `lastMark` are as of its first request. */
export interface Walk {
  readonly path: readonly string[];
  readonly query: Query;
  /** T of the run that began it. */
  readonly at: Instant | null;
  /** T of the run that asked for its first page. */
  readonly askedAt: Instant | null;
  /** The newest server time that the run had seen when this bound was first requested: a continued round keeps it (R3). */
  readonly decidedBy: Instant | null;
  readonly lastMark: number;
  pages: ServedPage[];
}

/** The model's own account of what it has served, by environment and stream, since the stream's round began. */
export interface Book {
  /** A run begins: what an earlier process was served and did not commit is lost. */
  open(): void;
  /** `latest` is the newest server time that the run has seen. */
  asked(request: Fetch, when: Pick<Walk, 'at' | 'askedAt' | 'lastMark'>, latest: Instant | null): void;
  served(request: Fetch, page: Page): void;
  /** The walk whose last page is not committed yet; of histories, which are asked for side by side, the one of this test. */
  pending(envId: string, stream: CollectionName, testId?: string): Walk | null;
  walks(envId: string, stream: CollectionName): readonly Walk[];
  keep(envId: string, stream: CollectionName, walks: readonly Walk[]): void;
}

/** What a walk asks for, its page size aside: a read goes on as the same one at half the limit (R24). */
export function askedBy({ path, query: { limit: _, ...query } }: Pick<Walk, 'path' | 'query'>): string {
  return JSON.stringify([path, query]);
}

export function isWhole({ pages }: Walk): boolean {
  return pages.at(-1)?.hasMore === false;
}

/** Neither a feed nor an answer by ids. */
export function isScan({ query }: Walk): boolean {
  return Object.keys(query).every((name) => ['limit', 'disabled'].includes(name));
}

export function isFeed({ query }: Pick<Walk, 'query'>): boolean {
  return 'synced_since' in query || 'deleted_since' in query;
}

/** An answer of the leading list, which says who is there and nothing else (R13, R18). */
export function isConfirmation({ path: [, ...path] }: Walk, stream: CollectionName): boolean {
  const { parent, parentTable } = entryNamed(stream);
  return path.join('/') === (parentTable ?? parent)?.path.join('/');
}

export function itemsOf(walk: Walk): readonly Record<string, unknown>[] {
  return walk.pages.flatMap(({ items }) => items as Record<string, unknown>[]);
}

export function openBook(): Book {
  const all = new Map<string, Walk[]>();
  const decided = new Map<string, Instant | null>();
  const keyOf = ({ path: [envId = ''], stream }: Fetch): string => `${envId} ${stream}`;
  const of = (key: string): Walk[] => all.get(key) ?? [];
  return {
    open() {
      for (const [key, walks] of all) {
        for (const walk of walks) walk.pages = walk.pages.filter(({ committed }) => committed);
        all.set(
          key,
          walks.filter(({ pages }) => pages.length > 0),
        );
      }
    },
    asked(fetch, when, latest) {
      const { path, query, cursor } = fetch;
      if (cursor !== null) return;
      const key = `${keyOf(fetch)} ${query['synced_since'] ?? query['deleted_since']}`;
      if (!decided.has(key)) decided.set(key, latest);
      const walk = { path, query, ...when, decidedBy: decided.get(key) ?? null, pages: [] };
      const others = of(keyOf(fetch)).filter((each) => askedBy(each) !== askedBy(walk));
      all.set(keyOf(fetch), [...others, walk]);
    },
    served(fetch, page) {
      const { cursor } = fetch;
      const walk = of(keyOf(fetch)).find((each) => askedBy(each) === askedBy(fetch));
      const end = walk?.pages.findIndex(({ nextCursor }) => cursor !== null && nextCursor === cursor) ?? -1;
      walk?.pages.splice(end + 1, walk.pages.length, { ...page, cursor, committed: false });
    },
    pending: (envId, stream, testId) =>
      // What was asked for ahead may be asked for again in its turn (R27).
      of(`${envId} ${stream}`).findLast(
        ({ pages, path }) => pages.at(-1)?.committed === false && (testId === undefined || path[2] === testId),
      ) ?? null,
    walks: (envId, stream) => of(`${envId} ${stream}`),
    keep: (envId, stream, walks) => void all.set(`${envId} ${stream}`, [...walks]),
  };
}
