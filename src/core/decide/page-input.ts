import type { ReadCheckpoint, Round } from '../checkpoint.ts';
import type { DecodedPage } from '../decode/decode.ts';
import type { PageCommit } from '../ports/destination.ts';
import type { Page } from '../ports/source.ts';
import type { Row, Stream, StreamName } from '../stream.ts';

/** A fetched page, or a slice of a heavy page, and what is known when it arrives. */
export interface PageInput {
  readonly stream: Stream;
  /** The checkpoint that `nextStep` returned with the request. */
  readonly checkpoint: ReadCheckpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  /** The mirror's rows under the page's keys, by joined key. */
  readonly existing: ReadonlyMap<string, Row>;
  /** The cursors of this read in this run (R8). */
  readonly visitedCursors: ReadonlySet<string>;
  /** The streams that marks are made for: their first scan has begun. */
  readonly markableStreams: ReadonlySet<StreamName>;
}

/** What a page changes, without its checkpoint. */
export type PageEffect = Omit<PageCommit, 'kind' | 'checkpoint'>;

/** Lets the marks of these ids wait for a later run; with `makes`, also those that don't exist yet (R13, R18). */
export function leaveMarks({ lastMark, run }: Round, ids: readonly string[], makes: boolean): PageEffect {
  return ids.length === 0 ? {} : { leftMarks: { ids, lastMark, run, makes } };
}
