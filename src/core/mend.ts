import { type Advance, advance } from './advance.ts';
import type { Checkpoint, Read, Round } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type DecodedPage, joinKey } from './decode.ts';
import type { Commit } from './destination.ts';
import { differenceOf } from './difference.ts';
import type { Instant } from './instant.ts';
import { changeMarks } from './marks.ts';
import { absent } from './newest-wins.ts';
import type { Page } from './source.ts';
import type { Row, Stream, StreamName } from './stream.ts';

/** An answer to the ids of rows that were found to differ, on its way into the mirror. */
export interface Mending {
  readonly stream: Stream;
  /** The stream's own, which stays as it is: a repair is no progress. */
  readonly checkpoint: Checkpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  readonly held: ReadonlyMap<string, Row>;
  readonly marking: ReadonlySet<StreamName>;
}

/**
 * What a page of such an answer does to the mirror: the same as a page of a sync that asks by id (R10, R13, R22), but that the
 * times of a row that differs do not stand against it. They may be what is wrong, and the answer is later than all the mirror was
 * made of, since nobody else writes.
 */
export function mend({ stream, checkpoint, page, decoded, held, marking }: Mending, context: Context): Commit {
  const differing = new Map(held);
  for (const shown of decoded.rows) {
    const row = held.get(joinKey(shown.key));
    const difference = row === undefined ? null : differenceOf(stream, { row, parts: [] }, shown, 'rows');
    if (row !== undefined && difference !== null)
      differing.set(joinKey(shown.key), withoutTimes(stream, row, difference.fields));
  }
  const asking = { ...checkpoint, round: roundOf(stream, context) };
  const last: Page = { ...page, hasMore: false };
  const arrival = { stream, checkpoint: asking, page: last, decoded, held: differing, met: NONE, marking };
  const { commit }: Advance = advance(arrival, context);
  return { ...commit, checkpoint };
}

const NONE: ReadonlySet<string> = new Set();

/** Rows that the source does not show, however it was asked, as what they are (R11, R13). */
export function bury(
  { stream, checkpoint, marking }: Pick<Mending, 'stream' | 'checkpoint' | 'marking'>,
  held: readonly Row[],
  at: Instant,
): Commit {
  const changes = held.map((row) => absent(row, at));
  const marks = changes.flatMap((change) => changeMarks(stream, change, null));
  return { checkpoint, changes, marks: marks.filter((mark) => marking.has(mark.stream)) };
}

/** A row whose times decide nothing, without what is filled of another kind (R22). */
function withoutTimes({ kinds }: Stream, row: Row, fields: readonly string[]): Row {
  const typed = Object.values(kinds ?? {}).flat();
  return {
    ...row,
    // Not null, which the source may show as well: the row has to be written.
    synced_at: '',
    ...(row['deletion'] === 'tombstone' ? { deletion: 'absent' } : {}),
    ...Object.fromEntries(fields.filter((name) => typed.includes(name)).map((name) => [name, null])),
  };
}

/** A round of one read that asks by id and sweeps nothing. */
function roundOf(stream: Stream, context: Context): Round {
  return {
    mode: 'scan',
    reason: 'full',
    run: context.run,
    pass: context.pass,
    due: null,
    phases: [],
    pages: 0,
    firstPageAt: null,
    lastMark: 0,
    sweeps: false,
    refuted: false,
    read: readOf(stream, context),
    reads: 1,
    askedThrough: null,
    firstConfirmation: null,
    misses: 0,
    incomplete: false,
  };
}

function readOf({ path }: Stream, { run, now }: Context): Read {
  const fresh = { cursor: null, at: now, restarts: 0, restartRun: run, halvedRun: null, reading: null };
  return { as: 'candidates', number: 1, path, query: {}, ...fresh };
}
