import type { AccountQuota, WindowLeft } from '../quota/quota.ts';
import type { ServerTimes } from '../time/server-times.ts';

/** Query parameters in the order sent; an array is sent as a repeated parameter. */
export type Query = Readonly<Record<string, string | number | readonly string[]>>;

/** The request for one page. A cursor is valid only with the exact path and query that it came from. */
export interface PageRequest {
  /** Decoded path segments under `/public/beta`. */
  readonly path: readonly string[];
  readonly query: Query;
  readonly cursor: string | null;
  /** How many of its tries failed in earlier runs that ended before the remaining ones (R24); none by default. */
  readonly failedTries?: number;
}

/** The items of a heavy page. Their text is kept, and parsed slice by slice on each iteration (R27). */
export interface SlicedItems extends Iterable<unknown> {
  readonly length: number;
  /** Each function returns the next few items; there is at least one. */
  readonly slices: readonly (() => readonly unknown[])[];
}

/** One decoded response of a list endpoint. */
export interface Page {
  readonly items: readonly unknown[] | SlicedItems;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/** An event for the progress display. */
export type SourceEvent =
  | {
      readonly type: 'wait';
      readonly reason: 'quota' | 'rate-limited' | 'retry';
      readonly delayMs: number;
      /** What failed, if this is the wait before a retry. */
      readonly about?: string | undefined;
    }
  | {
      readonly type: 'request';
      readonly path: string;
      /** The query as sent, with its question mark; empty without one. The token is never in it (R25). */
      readonly query: string;
      readonly status: number;
      readonly durationMs: number;
    }
  | {
      /** The account's quota cannot be stored where other processes see it, so this process counts alone (R23). */
      readonly type: 'unshared';
      readonly reason: string;
    };

/** The read API, as the sync sees it. Every failure is a `SyncError`. */
export interface Source {
  /** The environments that the token may see, as the service sent them (`GET /environments`). */
  environments(): Promise<readonly unknown[]>;
  /** Fetches one page. `onRequest` is called for every request sent for it, retries included. */
  page(request: PageRequest, onRequest?: () => void): Promise<Page>;
  /** How many table assets match (`matched_count` of the aggregated health score); `query` holds only filters. */
  matchedCount(request: Omit<PageRequest, 'cursor'>, onRequest?: () => void): Promise<number>;
  /** The server times of this run's accepted responses (R1). The `Date` of an error does not count. */
  times(): ServerTimes;
  /** How many requests this run has sent so far. */
  requests(): number;
  /**
   * The account's quota as this run's responses stated it; null until one has. A source without a quota omits this
   * method.
   */
  quota?(): AccountQuota | null;
  /** Sets what an earlier run left of the current window; called before the first request (R23). */
  resumeQuota?(left: WindowLeft): void;
  close(): Promise<void>;
}
