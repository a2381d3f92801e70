import type { Instant } from '../core/time/instant.ts';
import type { Principal } from './access.ts';
import type { CollectionListing } from './listings.ts';

/** The ids in a path. */
interface RouteIds {
  readonly env: string;
  /** The id of the parent, if the collection has one. */
  readonly id: string | null;
  readonly one: string | null;
}

/** A request for a collection: the reader, and the environment or parent. `serverTime` is the source's time. */
export interface ListRequest {
  readonly listing: CollectionListing;
  readonly place: RouteIds;
  readonly reader: Principal;
  readonly serverTime: Instant;
}
