import type { Read } from '../checkpoint.ts';
import { type RecoveryKind, SyncError } from '../errors.ts';
import type { Page } from '../ports/source.ts';

/** How often a run may restart a read after `invalid_cursor` (R7). */
export const MAX_RESTARTS = 3;

/** No page is requested with fewer rows than this (R24). */
const LEAST_ROWS = 50;

/** The attempts at one read in one run, each from its first page. */
export interface ReadAttempts {
  readonly restarts: number;
  readonly isHalved: boolean;
  /** Rows per page. */
  readonly limit: number;
}

/** How a read restarts after a failure; null if no attempt is left (R7, R24). */
export function nextAttempt(kind: RecoveryKind, attempts: ReadAttempts): ReadAttempts | null {
  const { restarts, isHalved, limit } = attempts;
  if (kind === 'restart-read') return restarts < MAX_RESTARTS ? { ...attempts, restarts: restarts + 1 } : null;
  const half = kind === 'halve-page' && !isHalved ? halfOf(limit) : null;
  return half === null ? null : { ...attempts, isHalved: true, limit: half };
}

/** Half the rows per page; null if the page cannot be smaller (R24). */
export function halfOf(limit: number): number | null {
  return limit <= LEAST_ROWS ? null : Math.max(LEAST_ROWS, Math.ceil(limit / 2));
}

/** What is wrong with a page's cursor; null if nothing is. Only `has_more` ends a list (R8). */
export function cursorFault({ hasMore, nextCursor }: Page, isVisited: (cursor: string) => boolean): string | null {
  if (!hasMore) return null;
  if (nextCursor === null) return 'answers has_more without a cursor: this is an error of the service';
  return isVisited(nextCursor) ? 'repeats a cursor: this is an error of the service' : null;
}

/**
 * Reads a list page by page. It ends because no cursor comes twice (R8).
 * @throws SyncError `restart-round` for a wrong cursor; `textOf` writes its message
 */
export async function readPages(
  fetchPage: (cursor: string | null) => Promise<Page>,
  onPage: (page: Page) => void | Promise<void>,
  textOf: (fault: string) => string,
): Promise<void> {
  const visited = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    const page = await fetchPage(cursor);
    await onPage(page);
    const fault = cursorFault(page, (next) => visited.has(next));
    if (fault !== null) throw new SyncError('restart-round', textOf(fault));
    if (!page.hasMore) return;
    cursor = page.nextCursor as string;
    visited.add(cursor);
  }
}

/** How a list is paged after a page that returned this cursor. */
export function nextPaging(
  { paging }: Pick<Read, 'paging'>,
  cursor: string | null,
  run: number,
): Required<Read>['paging'] {
  const pages = (paging?.pages ?? 0) + 1;
  return { pages, run, landmark: Number.isInteger(Math.log2(pages)) ? cursor : (paging?.landmark ?? null) };
}

/** Whether a list's cursor was issued to an earlier run, so it may have expired. A history resumes by its times. */
export function hasOldCursor({ cursor, history, paging }: Read, run: number): boolean {
  return cursor !== null && history === null && paging?.run !== run;
}
