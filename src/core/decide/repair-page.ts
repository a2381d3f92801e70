import type { Checkpoint, ReadCheckpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { type DecodedPage, joinKey } from '../decode/decode.ts';
import type { PageCommit } from '../ports/destination.ts';
import type { Page } from '../ports/source.ts';
import type { Row, Stream, StreamName } from '../stream.ts';
import type { Instant } from '../time/instant.ts';
import { differenceOf } from './difference.ts';
import { changeMarks } from './marks.ts';
import { absent } from './newest-wins.ts';
import { type PageOutcome, pageOutcome } from './page-outcome.ts';
import { beginRead, newRound } from './round.ts';

/** An answer to the ids of rows that were found to differ, on its way into the mirror. */
export interface RepairInput {
  readonly stream: Stream;
  /** The stream's own, which stays as it is: a repair is no progress. */
  readonly checkpoint: Checkpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  readonly existing: ReadonlyMap<string, Row>;
  readonly markableStreams: ReadonlySet<StreamName>;
}

/**
 * What a page of such an answer does to the mirror: the same as a page of a sync that asks by id (R10, R13, R22), but
 * that the times of a row that differs do not stand against it. They may be what is wrong, and the answer is later than
 * all the mirror was made of, since nobody else writes.
 */
export function repairPage(
  { stream, checkpoint, page, decoded, existing, markableStreams }: RepairInput,
  context: Context,
): PageCommit {
  const differing = new Map(existing);
  for (const shown of decoded.rows) {
    const row = existing.get(joinKey(shown.key));
    const difference = row === undefined ? null : differenceOf(stream, { row, parts: [] }, shown, 'rows');
    if (row !== undefined && difference !== null)
      differing.set(joinKey(shown.key), withoutTimes(stream, row, difference.fields));
  }
  const last: Page = { ...page, hasMore: false };
  const input = {
    stream,
    checkpoint: inLookup(stream, checkpoint, context),
    page: last,
    decoded,
    existing: differing,
    visitedCursors: NONE,
    markableStreams,
  };
  const { commit }: PageOutcome = pageOutcome(input, context);
  return { ...commit, checkpoint };
}

const NONE: ReadonlySet<string> = new Set();

/** Rows that the source does not show, however it was asked, as what they are (R11, R13). */
export function markAbsent(
  { stream, checkpoint, markableStreams }: Pick<RepairInput, 'stream' | 'checkpoint' | 'markableStreams'>,
  existing: readonly Row[],
  at: Instant,
): PageCommit {
  const changes = existing.map((row) => absent(row, at));
  const marks = changes.flatMap((change) => changeMarks(stream, change, null));
  return { kind: 'page', checkpoint, changes, marks: marks.filter((mark) => markableStreams.has(mark.stream)) };
}

/** A row whose times decide nothing, without what is filled of another kind (R22). */
function withoutTimes({ subtypeColumns }: Stream, row: Row, fields: readonly string[]): Row {
  const typed = Object.values(subtypeColumns ?? {}).flat();
  return {
    ...row,
    // Not null, which the source may show as well: the row has to be written.
    synced_at: '',
    ...(row['deletion'] === 'tombstone' ? { deletion: 'absent' } : {}),
    ...Object.fromEntries(fields.filter((name) => typed.includes(name)).map((name) => [name, null])),
  };
}

/** In a round of one read that asks by id, without marks and without a sweep. */
function inLookup({ path }: Stream, checkpoint: Checkpoint, context: Context): ReadCheckpoint {
  const round = newRound({ mode: 'scan', reason: 'full', steps: [] }, context, { hasRows: false, lastMark: 0 });
  return beginRead({ ...checkpoint, round }, { as: 'candidates', path, query: {} }, context);
}
