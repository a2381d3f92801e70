import type { Instant } from '../core/instant.ts';
import type { Principal } from './access.ts';
import type { CollectionListing } from './listings.ts';

/** SQL and the values of its named parameters; equal questions with other values give equal SQL. */
export interface SqlStatement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

/** The ids in a path. */
interface RouteIds {
  readonly env: string;
  /** The parent's, where there is one. */
  readonly id: string | null;
  /** The single item's. */
  readonly one: string | null;
}

/** Who asks for which collection, and where; `serverTime` is the source's. */
export interface ListRequest {
  readonly listing: CollectionListing;
  readonly place: RouteIds;
  readonly reader: Principal;
  readonly serverTime: Instant;
}
