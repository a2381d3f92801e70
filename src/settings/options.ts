import type { SourceEvent } from '../core/ports/source.ts';
import type { CollectionName } from '../streams/catalogue.ts';
import type { CollectionsEvent } from './collection-events.ts';

/** Where the mirror is. */
export interface MirrorOptions {
  /** The mirror: a file, or `postgres://user@host/database?schema=name`; `obsync.db` by default. */
  readonly db?: string | undefined;
  /** A file that holds the address of the mirror, with its password. */
  readonly dbFile?: string | undefined;
}

/** Where the service is, and how to send requests to it. Each option has the name and meaning of the one of the command line. */
export interface ServiceOptions extends MirrorOptions {
  /** Address of the service, before `/public/beta`. */
  readonly baseUrl: string;
  /** The access token; by default, the variable `OBSYNC_TOKEN`. */
  readonly token?: string | undefined;
  /** The name of the place where `token` was found, for error messages. */
  readonly tokenFrom?: string | undefined;
  /** A file that holds the access token. It is read again for each run. */
  readonly tokenFile?: string | undefined;
  /** Sends the token over plain http to other machines. */
  readonly allowHttp?: boolean | undefined;
  /** Only these environments, by id or name; all by default. */
  readonly env?: readonly string[] | undefined;
  /** Only these streams. */
  readonly stream?: readonly CollectionName[] | undefined;
  /** Seconds by which each read of changes overlaps the previous one; 3600 by default. */
  readonly overlap?: number | undefined;
  /** Rows per request, 1 to 2000; 2000 by default. */
  readonly pageSize?: number | undefined;
  /** Number of requests in flight at the same time; 4 by default. */
  readonly concurrency?: number | undefined;
  /** Number of retries of a failed request; 5 by default. */
  readonly retries?: number | undefined;
  /** Seconds until a request times out; 60 by default. */
  readonly timeout?: number | undefined;
  /** Seconds that a run waits for quota before it ends; 900 by default. */
  readonly maxWait?: number | undefined;
  /** The work stops after this number of requests. */
  readonly maxRequests?: number | undefined;
  /** Shares what is known of the account's quota with other processes of this user, in a file of the state folder; true by default. */
  readonly shareQuota?: boolean | undefined;
  /** Stops the work cleanly when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of everything that syncs. */
export interface SyncOptions extends ServiceOptions {
  /** Scans every stream in full instead of reading its changes. */
  readonly full?: boolean | undefined;
  /** Days between full scans of a stream; 7 by default. */
  readonly fullEvery?: number | undefined;
  /** Also mirrors the history of test executions. */
  readonly history?: boolean | undefined;
  /** Applies the deletions that were held back. */
  readonly allowShrink?: boolean | undefined;
  /** Receives the events of the run: requests, waits, the environments, and the progress and end of each stream. */
  readonly onProgress?: ((event: SyncEvent) => void) | undefined;
}

/** An event of a run in progress. */
export type SyncEvent = CollectionsEvent | SourceEvent;

/** The name of an option on the command line and in every message: `pageSize` is `page-size`. */
export function flagOf(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
