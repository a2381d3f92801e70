import type { Instant } from '../core/instant.ts';
import type { Reader } from './access.ts';
import type { Listing } from './listings.ts';

/** SQL and the values of its named parameters; equal questions with other values give equal SQL. */
export interface Statement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

/** The ids in a path. */
interface Place {
  readonly env: string;
  /** The parent's, where there is one. */
  readonly id: string | null;
  /** The single item's. */
  readonly one: string | null;
}

/** Who asks for which collection, and where; `serverTime` is the source's. */
export interface Question {
  readonly listing: Listing;
  readonly place: Place;
  readonly reader: Reader;
  readonly serverTime: Instant;
}
