import type { SourceEvent } from '../core/source.ts';
import type { StreamName } from '../core/stream.ts';
import type { RunProgressEvent } from '../sync/progress.ts';

/** Where the mirror is. */
export interface MirrorOptions {
  /** The mirror file; `obsync.db` by default. */
  readonly db?: string | undefined;
}

/** Where the service is, and how it is asked. Each option is named and means the same as that of the command line. */
export interface ServiceOptions extends MirrorOptions {
  /** Address of the service, before `/public/beta`. */
  readonly baseUrl: string;
  /** The access token; by default, the variable `OBSYNC_TOKEN`. */
  readonly token?: string | undefined;
  /** What error messages call the place where `token` was found. */
  readonly tokenFrom?: string | undefined;
  /** A file that holds the access token. It is read again for each run. */
  readonly tokenFile?: string | undefined;
  /** Sends the token over plain http to other machines. */
  readonly allowHttp?: boolean | undefined;
  /** Only these environments, by id or name; all by default. */
  readonly env?: readonly string[] | undefined;
  /** Only these streams. */
  readonly stream?: readonly StreamName[] | undefined;
  /** Seconds that each read of changes reaches back beyond the last one; 3600 by default. */
  readonly overlap?: number | undefined;
  /** Rows per request, 1 to 2000; 2000 by default. */
  readonly pageSize?: number | undefined;
  /** Requests in flight at once; 4 by default. */
  readonly concurrency?: number | undefined;
  /** Further tries of a request that failed; 5 by default. */
  readonly retries?: number | undefined;
  /** Seconds a request may take; 60 by default. */
  readonly timeout?: number | undefined;
  /** Seconds to wait for quota before giving up; 900 by default. */
  readonly maxWait?: number | undefined;
  /** Requests after which to stop. */
  readonly maxRequests?: number | undefined;
  /** Stops the work cleanly when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of everything that syncs. */
export interface SyncOptions extends ServiceOptions {
  /** Scans everything anew instead of reading the changes. */
  readonly full?: boolean | undefined;
  /** Days after which a stream is scanned anew; 7 by default. */
  readonly fullEvery?: number | undefined;
  /** Mirrors the history of test executions as well. */
  readonly history?: boolean | undefined;
  /** Applies the deletions that were held back. */
  readonly allowShrink?: boolean | undefined;
  /** Told what the run does: its requests and waits, the environments, and each stream as it goes on and ends. */
  readonly onProgress?: ((event: SyncEvent) => void) | undefined;
}

/** What a run tells while it goes on. */
export type SyncEvent = RunProgressEvent | SourceEvent;

/** An option as the command line, and therefore every message, spells it: `pageSize` is `page-size`. */
export function flagOf(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
