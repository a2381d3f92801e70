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

/** A response to a lookup of rows that differ, on its way into the mirror. */
export interface RepairInput {
  readonly stream: Stream;
  /** The stream's own checkpoint. It stays as it is: a repair makes no progress. */
  readonly checkpoint: Checkpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  readonly existing: ReadonlyMap<string, Row>;
  readonly markableStreams: ReadonlySet<StreamName>;
}

/**
 * What a page of such a response changes: the same as a page of an `ids` lookup in a sync (R10, R13, R22), but without
 * regard to the times of a row that differs. They may be what is wrong, and the response is newer than everything in
 * the mirror, because there is only one writer.
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
    checkpoint: asLookup(stream, checkpoint, context),
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

/** Marks rows that no lookup returned as absent (R11, R13). */
export function markAbsent(
  { stream, checkpoint, markableStreams }: Pick<RepairInput, 'stream' | 'checkpoint' | 'markableStreams'>,
  existing: readonly Row[],
  at: Instant,
): PageCommit {
  const changes = existing.map((row) => absent(row, at));
  const marks = changes.flatMap((change) => changeMarks(stream, change, null));
  return { kind: 'page', checkpoint, changes, marks: marks.filter((mark) => markableStreams.has(mark.stream)) };
}

/** The row without its times. Differing fields that a typed stream fills become null (R22). */
function withoutTimes({ subtypeColumns }: Stream, row: Row, fields: readonly string[]): Row {
  const typed = Object.values(subtypeColumns ?? {}).flat();
  return {
    ...row,
    // Not null, which the source may return too: the row must be written.
    synced_at: '',
    ...(row['deletion'] === 'tombstone' ? { deletion: 'absent' } : {}),
    ...Object.fromEntries(fields.filter((name) => typed.includes(name)).map((name) => [name, null])),
  };
}

/** A checkpoint within a round of one `ids` lookup, without marks or sweep. */
function asLookup({ path }: Stream, checkpoint: Checkpoint, context: Context): ReadCheckpoint {
  const round = newRound({ mode: 'scan', reason: 'full', steps: [] }, context, { hasRows: false, lastMark: 0 });
  return beginRead({ ...checkpoint, round }, { as: 'candidates', path, query: {} }, context);
}
