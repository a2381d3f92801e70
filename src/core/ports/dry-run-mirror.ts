import type { Stream } from '../stream.ts';
import type { Instant } from '../time/instant.ts';
import type { OpenMirror } from './open-mirror.ts';
import type { PageRequest } from './source.ts';

/** How many rows a read would return if the source equaled the mirror. */
export interface ExpectedRows {
  readonly rows: number;
  /** Whether there may be more rows, because the mirror never saw the whole list. */
  readonly atLeast: boolean;
}

/** A mirror for rehearsing a sync: it discards what the rehearsal writes, and says what to expect of the source. */
export interface DryRunMirror extends Pick<OpenMirror, 'state' | 'destination'> {
  /**
   * How many rows a read will return from this page on. `request` has the path under the environment, and a cursor only
   * if an earlier run left one. `now` is T (R1).
   */
  expected(envId: string, stream: Stream, request: PageRequest, now: Instant | null): Promise<ExpectedRows>;
  /** How the service last refused the stream; null if its last request was answered. */
  refused(envId: string, stream: Stream): Promise<'forbidden' | 'not-live' | null>;
}
