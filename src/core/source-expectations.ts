import type { Instant } from './instant.ts';
import type { PageRequest } from './source.ts';
import type { Stream } from './stream.ts';

/** How many rows a read would show of a source that is as the mirror has it. */
export interface ExpectedRows {
  readonly rows: number;
  /** The mirror has never seen all of what is read: there may be any number more. */
  readonly atLeast: boolean;
}

/** What a mirror makes one expect of the source. */
export interface SourceExpectations {
  /**
   * How many rows are to come of a read from this page on; `request` has the path under the environment, and a cursor only
   * if an earlier run has left it. `now` is T (R1).
   */
  expected(envId: string, stream: Stream, request: PageRequest, now: Instant | null): Promise<ExpectedRows>;
  /** How the stream refused to answer when it was last asked; null when it answered. */
  refused(envId: string, stream: Stream): Promise<'forbidden' | 'not-live' | null>;
}
