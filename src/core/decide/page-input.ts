import type { ReadCheckpoint } from '../checkpoint.ts';
import type { DecodedPage } from '../decode/decode.ts';
import type { PageCommit } from '../ports/destination.ts';
import type { Page } from '../ports/source.ts';
import type { Row, Stream, StreamName } from '../stream.ts';

/** A fetched page, or a slice of a heavy page, and what is known when it arrives. */
export interface PageInput {
  readonly stream: Stream;
  /** The checkpoint that `nextStep` gave with the request. */
  readonly checkpoint: ReadCheckpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  /** The mirror's rows under the keys of the page, by joined key. */
  readonly existing: ReadonlyMap<string, Row>;
  /** The cursors that this read has had so far in this run (R8). */
  readonly visitedCursors: ReadonlySet<string>;
  /** The streams for which marks are made: their first scan has begun. */
  readonly markableStreams: ReadonlySet<StreamName>;
}

/** What a page changes, its checkpoint aside. */
export type PageEffect = Omit<PageCommit, 'kind' | 'checkpoint'>;
