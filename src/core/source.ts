import type { Instant } from './instant.ts';
import type { AccountQuota, WindowLeft } from './quota.ts';

/** Query parameters in the order sent; an array is sent as a repeated parameter. */
export type Query = Readonly<Record<string, string | number | readonly string[]>>;

/** One page to be fetched: a cursor is valid only with the exact path and query it came from. */
export interface PageRequest {
  /** Decoded path segments under `/public/beta`. */
  readonly path: readonly string[];
  readonly query: Query;
  readonly cursor: string | null;
  /** Its tries that failed in earlier runs, which were cut off from the others (R24); none where this is left out. */
  readonly failedTries?: number;
}

/** The items of a heavy page, held as they were sent until they are gone through, which may be more than once (R27). */
export interface SlicedItems extends Iterable<unknown> {
  readonly length: number;
  /** Each gives the next few items; there is at least one. */
  readonly slices: readonly (() => readonly unknown[])[];
}

/** One decoded response of a list endpoint. */
export interface Page {
  readonly items: readonly unknown[] | SlicedItems;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/** Progress of the requests themselves, for whoever shows it. */
export type SourceEvent =
  | {
      readonly type: 'wait';
      readonly reason: 'quota' | 'rate-limited' | 'retry';
      readonly delayMs: number;
      /** What failed, before a further try. */
      readonly about?: string | undefined;
    }
  | {
      readonly type: 'request';
      readonly path: string;
      /** As sent, with its question mark; empty where there is none. The token is never in it (R25). */
      readonly query: string;
      readonly status: number;
      readonly durationMs: number;
    };

/** The read API, as the sync sees it. Every failure is a `SyncError`. */
export interface Source {
  /** The environments the token may see, as sent (`GET /environments`). */
  environments(): Promise<readonly unknown[]>;
  /** One page. `onRequest` is called once for every request sent for it, retries included. */
  page(request: PageRequest, onRequest?: () => void): Promise<Page>;
  /** How many table assets match (`matched_count` of the aggregated health score); `query` holds filters alone. */
  matchedCount(request: Omit<PageRequest, 'cursor'>, onRequest?: () => void): Promise<number>;
  /** T: the `Date` of the first accepted answer of this run that had one (R1). An error's `Date` tells nothing. */
  serverTime(): Instant | null;
  /** The latest `Date` of an accepted answer so far: a run may last for days (R3). */
  latestServerTime(): Instant | null;
  /** Requests sent so far in this run. */
  requests(): number;
  /** The account's quota as the answers of this run told it; null while none has. A source without a quota leaves it out. */
  quota?(): AccountQuota | null;
  /** Told before the first request: what an earlier run left of the window under way (R23). */
  resumeQuota?(left: WindowLeft): void;
  close(): Promise<void>;
}
