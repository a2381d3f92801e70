import { roundEndOf } from '../../support/commit-parts.ts';
import { isComplete, isConfirmation, isScan, itemsOf, type ServedRead } from '../request-log.ts';
import type { Row } from '../test-mirror.ts';
import { type CommitTransition, includesRow, isLive, mayLag, returnsRow, scanQueriesOf } from './commit-transition.ts';
import { covers } from './removals-are-explained.ts';

/** No mark is lost (R13, R18, R22): a commit marks what it changes, and a mark is cleared only by a later read. */
export function marksAreKept(transition: CommitTransition): readonly string[] {
  const { before, after, stream } = transition;
  const made = requiredMarks(transition)
    .filter((mark) => (after.marks.get(mark) ?? 0) <= before.lastMark)
    .map((mark) => `${mark} is not marked although it changed`);
  const lost = [...before.marks]
    .filter(([mark, number]) => (after.marks.get(mark) ?? 0) < number)
    .filter(
      ([mark, number]) =>
        !mark.startsWith(`${stream} `) || !isMarkSettled(transition, mark.slice(stream.length + 1), number),
    )
    .map(([mark, number]) => `the mark of ${mark}, ${number}, was lost`);
  return [...made, ...lost];
}

/** The marks that a commit must make: for changed rows, and for assets that were deleted or came back. */
function requiredMarks({ stream, before, after }: CommitTransition): string[] {
  if ((stream !== 'columns' && stream !== 'assets') || before.rows === after.rows) return [];
  const marks = [...after.rows].flatMap(([id, row]) => {
    const old = before.rows.get(id);
    const shown = isLive(row) && (old === undefined || !includesRow(old, row)) ? shownMarks(stream, id, row) : [];
    const moved = old !== undefined && isLive(old) !== isLive(row);
    return stream === 'assets' && moved ? [...shown, `columns ${id}`, `tests ${id}`] : shown;
  });
  return marks.filter((mark) => before.markedStreams.has(mark.split(' ', 1)[0] ?? ''));
}

function shownMarks(stream: 'columns' | 'assets', id: string, row: Row): string[] {
  if (stream === 'columns') return [`column_lineage ${id}`];
  return ['table', 'bi'].includes(String(row['kind'])) ? [`${row['kind']}_assets ${id}`] : [];
}

function isMarkSettled(transition: CommitTransition, id: string, number: number): boolean {
  const { read, page, reads, commit, stream } = transition;
  if (page !== null && read !== null) {
    // A row that was younger than the overlap when it was read keeps its mark (R22).
    if (TYPED.includes(stream) && !isConfirmation(read, stream))
      return (
        itemsOf(read).some((item) => item['id'] === id) && !mayLag(transition, read, transition.after.rows.get(id))
      );
    if (TYPED.includes(stream)) return false;
    const lookups = reads.filter((each) => !isConfirmation(each, stream) && idsOf(each).includes(id));
    const asked = lastLookup(
      stream,
      lookups.filter((each) => number <= each.lastMark),
    );
    return asked.length > 0 && asked.every(isComplete) && rowsAreLive(transition, asked, id);
  }
  if (!roundEndOf(commit)) return false;
  const parent = parentRow(transition, id);
  if (parent === null) return true;
  const asked = reads.filter((each) => !isConfirmation(each, stream) && isComplete(each) && number <= each.lastMark);
  const paying = asked.filter((each) => settlesMark(each, { stream, id, parent }));
  if (!TYPED.includes(stream) && stream !== 'column_lineage') return paying.length > 0;
  // A round counts from its first page: a stored read whose first page was never committed is requested again later. In
  // a run without a date, only the round knows when that was.
  const firstPageAt = transition.before.round?.firstPageAt ?? null;
  const settled = paying.filter(
    (each) => !mayLag(transition, { ...each, at: each.firstRequestAt ?? firstPageAt }, parent),
  );
  return settled.some((each) => returnsMarked(each, id)) || (settled.length > 0 && isConfirmed(transition, id));
}

const TYPED = ['table_assets', 'bi_assets'] as readonly string[];

/** The reads of the last lookup, one per list of the stream; none if it is not yet in its last list. */
function lastLookup(stream: CommitTransition['stream'], reads: readonly ServedRead[]): readonly ServedRead[] {
  const lists = scanQueriesOf(stream);
  const last = reads.slice(-lists.length);
  const isWhole = lists.every((list, i) =>
    Object.entries(list).every(([name, value]) => last[i]?.query[name] === value),
  );
  return last.length === lists.length && isWhole ? last : [];
}

/**
 * Every returned row of an asset is live, or rejected and so looked up separately. A row that a newer tombstone keeps
 * deleted leaves the mark (R13, R20).
 */
function rowsAreLive(
  { after, rows, envId, stream }: CommitTransition,
  asked: readonly ServedRead[],
  assetId: string,
): boolean {
  const rejected = rows('select row_key from rejected_rows where env_id = ? and stream = ?', envId, stream);
  const shown = new Set(asked.flatMap(itemsOf).map((item) => String(item['id'])));
  for (const { row_key: id } of rejected) shown.delete(String(id));
  return [...after.rows].every(([id, row]) => !shown.has(id) || row['asset_id'] !== assetId || isLive(row));
}

/** Whether a read returned the marked row, or an edge into it. */
function returnsMarked(read: ServedRead, id: string): boolean {
  return returnsRow(read, id) || itemsOf(read).some((item) => item['downstream_column_id'] === id);
}

/** Whether the parent's list returned the row afterwards, and the mirror has everything else of it (R18, R22). */
export function isConfirmed(transition: CommitTransition, id: string): boolean {
  const { reads, stream, envId, rows } = transition;
  const shown = reads.filter((each) => isConfirmation(each, stream) && isComplete(each) && returnsRow(each, id));
  if (shown.length === 0) return false;
  if (stream === 'column_lineage') return true;
  const [row] = rows('select data_platform, bi_platform from assets where env_id = ? and id = ?', envId, id);
  return row?.[stream === 'table_assets' ? 'data_platform' : 'bi_platform'] !== null;
}

function idsOf({ query }: ServedRead): readonly string[] {
  return ['ids', 'asset_ids', 'column_ids'].flatMap((name) => (query[name] as string[] | undefined) ?? []);
}

function settlesMark(
  read: ServedRead,
  { stream, id, parent }: { stream: CommitTransition['stream']; id: string; parent: Row },
): boolean {
  if (stream === 'column_lineage') return covers(read, id, parent);
  return isScan(read) || idsOf(read).includes(id);
}

/** The row that a mark belongs to; null if there is nothing left to look up. */
function parentRow({ stream, rows, envId }: CommitTransition, id: string): Row | null {
  const table = stream === 'column_lineage' ? 'columns' : 'assets';
  const parent = rows(`select * from ${table} where env_id = ? and id = ?`, envId, id)[0];
  if (stream === 'table_assets' || stream === 'bi_assets')
    return isLive(parent) && parent['kind'] === stream.split('_')[0] ? parent : null;
  if (isLive(parent)) return parent;
  if (stream === 'column_lineage') return null;
  const owned = rows(`select * from ${stream} where env_id = ? and asset_id = ? and deleted_at is null`, envId, id)[0];
  return owned ?? null;
}
