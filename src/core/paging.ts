import type { RecoveryKind } from './errors.ts';
import type { Page } from './source.ts';

/** How often one run may start a read again after `invalid_cursor` (R7). */
export const MAX_RESTARTS = 3;

/** No page is asked for with fewer rows than this (R24). */
const LEAST_ROWS = 50;

/** One read's attempts in one run, each from its first page. */
export interface ReadAttempts {
  readonly restarts: number;
  readonly isHalved: boolean;
  /** Rows of a page. */
  readonly limit: number;
}

/** How a read starts again after a failure; null when it has no attempt left (R7, R24). */
export function nextAttempt(recoveryKind: RecoveryKind, attempts: ReadAttempts): ReadAttempts | null {
  const { restarts, isHalved, limit } = attempts;
  if (recoveryKind === 'restart-read') return restarts < MAX_RESTARTS ? { ...attempts, restarts: restarts + 1 } : null;
  const half = recoveryKind === 'halve-page' && !isHalved ? halfOf(limit) : null;
  return half === null ? null : { ...attempts, isHalved: true, limit: half };
}

/** Half the rows of a page; null when the page is as small as pages get (R24). */
export function halfOf(limit: number): number | null {
  return limit <= LEAST_ROWS ? null : Math.max(LEAST_ROWS, Math.ceil(limit / 2));
}

/** How the service pages wrongly; null when the cursor leads on, or the list has ended. Only `has_more` ends a list (R8). */
export function cursorFault({ hasMore, nextCursor }: Page, isVisited: (cursor: string) => boolean): string | null {
  if (!hasMore) return null;
  if (nextCursor === null) return 'says that there is more but gives no cursor: the service pages wrongly';
  return isVisited(nextCursor) ? 'gives a cursor that it gave before: the service pages wrongly' : null;
}
