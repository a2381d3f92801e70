import type { Stream } from '../stream.ts';
import type { Instant } from '../time/instant.ts';
import type { PageRequest } from './source.ts';

/** How many rows a read would show if the source had exactly the mirror's rows. */
export interface ExpectedRows {
  readonly rows: number;
  /** Whether there may be more rows, because the mirror has never seen the whole list. */
  readonly atLeast: boolean;
}

/** What to expect of the source, according to the mirror. */
export interface SourceExpectations {
  /**
   * How many rows a read will show from this page on. `request` has the path under the environment, and a cursor only
   * if an earlier run has left one. `now` is T (R1).
   */
  expected(envId: string, stream: Stream, request: PageRequest, now: Instant | null): Promise<ExpectedRows>;
  /** How the service refused the stream when it was last asked; null if it answered. */
  refused(envId: string, stream: Stream): Promise<'forbidden' | 'not-live' | null>;
}
